// Faults that a reader sees and a text search does not, searched for in the page as it is drawn.
({
  // One line for each fault in what is shown now.
  faults: () => {
  const out = [], seen = (node) => node.getClientRects().length > 0;
  const folded = (node) => node.closest('details:not([open])') && !node.closest('summary');
  const say = (kind, node, text) => out.push(`${kind}: ${(node.closest('[id]') || {}).id ?? ''} ` +
    `${node.className?.baseVal ?? node.className} | ${text.trim().replace(/\s+/g, ' ').slice(0, 90)}`);
  const scrolls = (node) => { for (let up = node; up; up = up.parentElement)
    if (/auto|scroll/.test(getComputedStyle(up).overflowX) && up.scrollWidth > up.clientWidth) return up; return null; };

  // Text of drawings: inside its drawing, and no two over each other.
  for (const svg of document.querySelectorAll('svg')) {
    if (!seen(svg) || folded(svg) || svg.parentElement.closest('svg') || svg.closest('.eh-tip')) continue;
    const box = (svg.closest('.js-plotly-plot') ?? svg).getBoundingClientRect(), texts = [];
    for (const text of svg.querySelectorAll('text')) {
      const own = text.getBoundingClientRect();
      if (!own.width || !text.textContent.trim() || getComputedStyle(text).visibility === 'hidden' || text.closest('[opacity="0"], [style*="opacity: 0"]')) continue;
      if (own.left < box.left - 1.5 || own.right > box.right + 1.5 || own.top < box.top - 2 || own.bottom > box.bottom + 2)
        say('cut', text, text.textContent);
      const glyphs = parseFloat(getComputedStyle(text).fontSize), rim = Math.max(0, (own.height - glyphs) / 2);
      texts.push({text, left: own.left, right: own.right, top: own.top + rim, bottom: own.bottom - rim});
    }
    texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const beside = a.text.closest('.xaxislayer-above, .xtick') && b.text.closest('.xaxislayer-above, .xtick') ? -3 : 1;
      if (wide > beside && high > 2) say('over each other', a.text, `${a.text.textContent} / ${b.text.textContent}`);
    }));
  }

  // Lines of text as they are broken.
  const lines = (node) => {
    const found = [], range = document.createRange(), walk = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    let line = '', last = null;
    while (walk.nextNode()) {
      const text = walk.currentNode;
      if (text.parentElement.closest('svg, select, option, textarea, script, style')) continue;
      if (node.matches('th') && text.parentElement.closest('small')) continue;   // a line of its own
      for (let at = 0; at < text.length; at++) {
        range.setStart(text, at); range.setEnd(text, at + 1);
        const box = [...range.getClientRects()].pop();   // before a break: the end of the line before comes first
        if (!box || (!box.width && text.data[at] !== '\u00ad')) continue;
        if (box.width && last && (box.top > last.top + last.height * .6)) { found.push(line); line = ''; }
        if (box.width) last = box;
        line += text.data[at];
      }
    }
    return [...found, line];
  };
  for (const node of document.querySelectorAll('p, h1, h2, h3, dt, dd, th, li, summary, label, .eh-key, .eh-ci, small, button')) {
    if (!seen(node) || folded(node) || node.closest('.eh-tip, .sr, [aria-hidden=true], .cm-editor, .eh-inspect-open, .eh-vote')) continue;
    const all = lines(node);
    all.forEach((line, at) => {
      const next = all[at + 1];
      if (/[(\[{]\s*$/.test(line) && next !== undefined) say('bracket alone', node, `${line} / ${next}`);
      if (at && /^\s*(?:[)\]},;.:]|%(?! of))/.test(line)) say('mark alone', node, `${all[at - 1]} / ${line}`);
      if (node.matches('th') && next !== undefined && /[^\W\d_]$/.test(line) && /^[^\W\d_]/.test(next) && !/\u00ad\s*$/.test(line)
          && !node.innerText.replace(/\u00ad/g, '').match(new RegExp(`\\s${next.slice(0, 3).replace(/\W/g, '.')}`)))
        say('word broken', node, all.join(' / '));
    });
  }
  for (const node of document.querySelectorAll('.eh-ci')) if (seen(node) && !folded(node)) {
    const tops = new Set([...node.getClientRects()].map(box => Math.round(box.top / 6)));
    if (tops.size > 1) say('interval broken', node, node.textContent);
  }

  // Boxes with text that is cut off inside them.
  for (const node of document.querySelectorAll('select, input:not([type=checkbox]):not([type=radio]):not([type=range])')) {
    if (!seen(node) || folded(node)) continue;
    const style = getComputedStyle(node), text = node.tagName === 'SELECT' ? node.selectedOptions[0]?.textContent ?? '' : '';
    if (node.tagName === 'SELECT') {
      const room = parseFloat(style.paddingRight);
      if (room < 18 && style.appearance === 'none') say('arrow touched', node, text);
    }
  }
  for (const node of document.querySelectorAll('.gradio-container :is(td, th, button, h1, h2, h3, p, .eh-key, label, dd)')) {
    if (!seen(node) || folded(node) || node.closest('.sr, .eh-sr, .cm-editor')) continue;
    const style = getComputedStyle(node);
    if (style.overflowX === 'hidden' && node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 1 && style.textOverflow !== 'ellipsis') say('cut', node, node.textContent);
    if (node.getBoundingClientRect().right > innerWidth + 1 && !scrolls(node)) say('out of the window', node, node.textContent);
  }

  for (const axis of document.querySelectorAll('.eh-axis')) if (seen(axis) && !folded(axis)) {
    const ticks = [...axis.querySelectorAll('span')].filter(seen).map(tick => tick.getBoundingClientRect()).sort((a, b) => a.left - b.left);
    if (ticks.some((tick, at) => at && tick.left < ticks[at - 1].right + 2)) say('ticks collide', axis, axis.textContent);
  }

  // The name of a column stays in its column.
  for (const head of document.querySelectorAll('.eh-view thead th')) {
    if (!seen(head) || folded(head) || !head.textContent.trim() || head.querySelector('.eh-axis, .eh-vh')) continue;
    const range = document.createRange(); range.selectNodeContents(head);
    const own = range.getBoundingClientRect(), cell = head.getBoundingClientRect();
    if (own.right > cell.right + 3 || own.left < cell.left - 3) say('head over its neighbour', head, head.textContent);
  }

  // A link is some words, not a paragraph.
  for (const node of document.querySelectorAll('.gradio-container *')) {
    if (!seen(node) || folded(node) || !node.textContent.trim()) continue;
    if (getComputedStyle(node).textDecorationLine.includes('underline') && node.textContent.trim().length > 70) say('paragraph underlined', node, node.textContent);
  }

  // A mark of a legend stands on the line of its text.
  for (const mark of document.querySelectorAll('.eh-key > i, .hatch')) {
    if (!seen(mark) || folded(mark)) continue;
    const range = document.createRange(), box = mark.getBoundingClientRect();
    const walk = document.createTreeWalker(mark.parentElement, NodeFilter.SHOW_TEXT);
    while (walk.nextNode() && !(walk.currentNode.data.trim() && mark.compareDocumentPosition(walk.currentNode) & 4));
    if (!walk.currentNode?.data?.trim()) { say('mark without text', mark, mark.parentElement.outerHTML); continue; }
    range.selectNodeContents(walk.currentNode);
    const first = range.getClientRects()[0];
    if (!first || first.bottom < box.top || first.top > box.bottom || first.left - box.right > 24) say('mark apart from its text', mark, mark.parentElement.textContent);
  }
  return [...new Set(out)];
},

  // Texts in cells of matrices whose contrast to their ground is below `least`.
  contrasts: (least) => {
  const parse = (text) => { const [r, g, b, a = 1] = (text.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    return /^color\(srgb/.test(text) ? [r * 255, g * 255, b * 255, a] : [r, g, b, a]; };
  const mix = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = (colour) => { const [r, g, b] = colour.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (node) => { const layers = []; for (let up = node; up; up = up.parentElement) layers.push(parse(getComputedStyle(up).backgroundColor));
    return layers.reverse().reduce((under, top) => mix(top, under), [255, 255, 255, 1]); };
  const out = [];
  for (const node of document.querySelectorAll('.eh-heat-box :is(b, small), .eh-heat-box td span')) {
    if (!node.getClientRects().length || !node.textContent.trim()) continue;
    const back = ground(node); let ink = parse(getComputedStyle(node).color);
    let clear = 1; for (let up = node; up && !up.matches('table'); up = up.parentElement) clear *= Number(getComputedStyle(up).opacity);
    ink[3] *= clear; ink = mix(ink, back);
    const [high, low] = [light(ink), light(back)].sort((a, b) => b - a), ratio = (high + .05) / (low + .05);
    if (ratio < least) out.push(`${ratio.toFixed(2)} ${node.textContent.trim()} in ${node.closest('button')?.className ?? ''} ${node.closest('td, th')?.className ?? ''}`);
  }
  return [...new Set(out)];
},
})
