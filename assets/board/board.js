// A board: table, chart and verdicts, drawn from the numbers inside the page.
'use strict';
(() => {
  const board = JSON.parse(document.getElementById('board-data').textContent);
  const $ = (id) => document.getElementById(id);
  const columns = new Map(board.columns.map((one) => [one.key, one]));
  const state = { sort: board.columns[0]?.key, up: false, set: '', prompt: '', shown: new Set(board.columns.slice(0, 4).map((one) => one.key)) };
  const loaded = {};
  let opened = null;

  function element(name, values = {}, ...children) {
    const svg = ['svg', 'line', 'circle', 'text', 'title'].includes(name);
    const made = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
    for (const [key, value] of Object.entries(values)) {
      if (key === 'onclick') made.addEventListener('click', value);
      else if (value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.filter((one) => one !== null && one !== undefined));
    return made;
  }

  const minus = (text) => text.replace('-', '\u2212');
  function format(key, value) {
    if (value === null || value === undefined) return '\u2013';
    const { style } = columns.get(key);
    if (style === 'percent' || style === 'points') return minus((100 * value).toFixed(1));
    return minus(value.toFixed(2));
  }
  const bounds = (key, one) => one.low === null || one.high === null ? '' : ` [${format(key, one.low)}, ${format(key, one.high)}]`;
  const unit = (column) => column.style === 'percent' ? ', %' : column.style === 'points' ? ', points' : '';
  const place = (one) => !one.place ? '\u2013' : one.place[0] === one.place[1] ? `${one.place[0]}` : `${one.place[0]}\u2013${one.place[1]}`;
  const setName = (key) => {
    const one = board.sets[key];
    return `${one.source}: ${one.items.toLocaleString('en')} items, ${one.comparisons.toLocaleString('en')} comparisons of ${one.models.join(', ')}`;
  };
  const setKeys = Object.keys(board.sets);
  const paid = board.rows.some((row) => row.dollars_per_1000 > 0);
  const cost = (row) => paid ? row.dollars_per_1000 : row.tokens;
  const costHead = paid ? '$ per 1,000' : 'Tokens';
  const costText = (row) => cost(row) === null ? '\u2013' : paid ? cost(row).toFixed(2) : Math.round(cost(row)).toLocaleString('en');

  function rows() {
    const better = columns.get(state.sort)?.better;
    const sign = (better === 'low' ? 1 : -1) * (state.up ? -1 : 1);
    const found = board.rows.filter((row) => (!state.set || row.set === state.set) && (!state.prompt || row.prompt === state.prompt));
    return found.sort((a, b) => {
      const [x, y] = [a, b].map((row) => row.numbers[state.sort]?.value ?? null);
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (x - y) || a.judge.localeCompare(b.judge) || a.prompt.localeCompare(b.prompt);
    });
  }

  function head() {
    const cells = [element('th', { scope: 'col' }, 'Place'), element('th', { scope: 'col' }, 'Judge and prompt')];
    for (const column of visible()) {
      const sorted = column.key === state.sort;
      const rises = (column.better === 'low') !== state.up;  // the best value comes first
      const button = element('button', { type: 'button', title: column.about, onclick: () => sortBy(column.key) }, column.head + unit(column) + (sorted ? (rises ? ' \u25b4' : ' \u25be') : ''));
      if (sorted) cells.push(element('th', { class: 'plot', scope: 'col' }, element('span', {}, 'Interval')));
      cells.push(element('th', { scope: 'col', class: sorted ? 'num' : 'num other', 'aria-sort': sorted ? (rises ? 'ascending' : 'descending') : null }, button));
    }
    cells.push(element('th', { scope: 'col', class: 'num other' }, costHead), element('th', { scope: 'col', class: 'num other' }, 'Judgements'));
    return element('tr', {}, ...cells);
  }
  const visible = () => board.columns.filter((one) => state.shown.has(one.key) || one.key === state.sort);

  function scale(found) {
    const ends = found.map((row) => row.numbers[state.sort]).filter((one) => one.value !== null).flatMap((one) => [one.low ?? one.value, one.high ?? one.value]);
    ends.push(...found.map((row) => row.numbers[state.sort].neutral).filter((one) => one !== null));
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    return (value) => 4 + 92 * (high > low ? (value - low) / (high - low) : 0.5);
  }

  function interval(one, x) {
    const drawn = element('svg', { viewBox: '0 0 100 24', height: 24, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    const line = (values) => drawn.append(element('line', { 'vector-effect': 'non-scaling-stroke', ...values }));
    const { neutral } = one;
    if (neutral !== null) line({ x1: x(neutral), x2: x(neutral), y1: 0, y2: 24, stroke: 'var(--line-2)', 'stroke-dasharray': '4 3' });
    if (one.value === null) return drawn;
    if (one.low !== null && one.high !== null) line({ x1: x(one.low), x2: x(one.high), y1: 12, y2: 12, stroke: 'var(--win)', 'stroke-width': 2.4 });
    line({ x1: x(one.value), x2: x(one.value), y1: 12, y2: 12, stroke: 'var(--win)', 'stroke-width': 11, 'stroke-linecap': 'round' });
    return drawn;
  }

  function number(row, key) {
    const one = row.numbers[key];
    if (one.value === null) return element('span', { class: 'mute', title: one.note }, '\u2013');
    const label = `${columns.get(key).name} of ${row.judge}, ${row.prompt}: open its judgements`;
    return element('span', {}, element('button', { type: 'button', class: 'value', 'aria-label': `${format(key, one.value)}, ${label}`, onclick: () => open(row, key) }, format(key, one.value)), element('span', { class: 'ci' }, bounds(key, one)), one.note ? element('span', { class: 'small mute note' }, one.note) : null);
  }

  function line(row, x) {
    const who = element('td', {}, row.judge, row.simulated ? ' ' : '', row.simulated ? element('span', { class: 'tag' }, 'simulated') : '', row.imported ? ' ' : '', row.imported ? element('span', { class: 'tag' }, 'imported') : '', element('br'), element('span', { class: 'small mute' }, row.prompt + (row.model.toLowerCase() === row.judge.toLowerCase() || row.simulated ? '' : ` \u00b7 ${row.model}`)));
    const cells = [element('td', {}, element('b', {}, state.sort ? place(row.numbers[state.sort]) : '\u2013')), who];
    for (const column of visible()) {
      const sorted = column.key === state.sort;
      if (sorted) cells.push(element('td', { class: 'plot' }, interval(row.numbers[column.key], x)));
      cells.push(element('td', { class: sorted ? 'num' : 'num other' }, number(row, column.key)));
    }
    const all = element('button', { type: 'button', class: 'value', 'aria-label': `${row.asked} judgements of ${row.judge}, ${row.prompt}`, onclick: () => open(row, '') }, row.asked.toLocaleString('en'));
    cells.push(element('td', { class: 'num other' }, costText(row)), element('td', { class: 'num other' }, all));
    return element('tr', {}, ...cells);
  }

  function draw() {
    const found = rows();
    const column = columns.get(state.sort);
    const x = column ? scale(found) : null;
    const table = $('board-table');
    const groups = setKeys.filter((key) => found.some((row) => row.set === key));
    const width = 4 + visible().length + 1;
    table.replaceChildren(element('thead', {}, head()), ...groups.map((key) => element('tbody', {},
      groups.length > 1 || setKeys.length > 1 ? element('tr', {}, element('th', { colspan: width, scope: 'rowgroup' }, setName(key))) : '',
      ...found.filter((row) => row.set === key).map((row) => line(row, x)))));
    $('board-sub').textContent = column ? `Sorted by ${column.name}; ${column.placed ? 'place is the range that the intervals allow, among rows on the same items' : 'in this column no direction is better, so it has no places'}. No composite score.` : '';
    $('columns-word').textContent = `Columns: ${visible().length} of ${board.columns.length}`;
    chart(found);
  }

  function sortBy(key) {
    state.up = state.sort === key ? !state.up : false;
    state.sort = key;
    draw();
    document.querySelector('th[aria-sort] button')?.focus();
  }

  function chart(found) {
    const key = columns.has('accuracy') ? 'accuracy' : columns.has('agreement') ? 'agreement' : state.sort;
    const sets = setKeys.map((set) => found.filter((row) => row.set === set && row.numbers[key]?.value !== null && cost(row) !== null));
    const marks = (sets.find((one) => one.length) ?? []).sort((a, b) => cost(a) - cost(b));
    const box = $('board-chart');
    if (!key || !marks.length) { box.replaceChildren(element('p', { class: 'mute' }, 'No row has both a cost and this number.')); return; }
    const name = columns.get(key).name;
    $('chart-sub').textContent = `${name}${unit(columns.get(key))}; bars: 95\u202f% CI. ${setName(marks[0].set)}`;
    const phone = window.matchMedia('(max-width: 760px)').matches;
    const [w, h] = phone ? [340, 260] : [680, 310];
    const costs = marks.map(cost);
    const ends = marks.flatMap((row) => [row.numbers[key].low ?? row.numbers[key].value, row.numbers[key].high ?? row.numbers[key].value]);
    const range = (values) => { const [a, b] = [Math.min(...values), Math.max(...values)]; const pad = (b - a || Math.abs(b) || 1) * 0.12; return [a - pad, b + pad]; };
    const [x0, x1] = range(costs); const [y0, y1] = range(ends);
    const x = (value) => 48 + (w - 60) * (value - x0) / (x1 - x0);
    const y = (value) => 14 + (h - 64) * (y1 - value) / (y1 - y0);
    const drawn = element('svg', { viewBox: `0 0 ${w} ${h}`, role: 'img', 'aria-label': `${name} against cost; the table has the numbers` });
    for (const value of ticks(y0, y1)) drawn.append(element('line', { x1: 48, x2: w - 8, y1: y(value), y2: y(value), stroke: 'var(--line)' }), element('text', { x: 42, y: y(value) + 5, 'text-anchor': 'end' }, format(key, value).replace(/\.0$/, '')));
    for (const value of ticks(x0, x1)) drawn.append(element('text', { x: x(value), y: h - 30, 'text-anchor': 'middle' }, value.toLocaleString('en')));
    drawn.append(element('text', { x: w / 2, y: h - 8, 'text-anchor': 'middle' }, paid ? 'dollars per 1,000 comparisons' : 'tokens per comparison'));
    for (const row of marks) {
      const one = row.numbers[key];
      drawn.append(element('line', { x1: x(cost(row)), x2: x(cost(row)), y1: y(one.low ?? one.value), y2: y(one.high ?? one.value), stroke: 'var(--win)', 'stroke-width': 1.8 }),
        element('circle', { cx: x(cost(row)), cy: y(one.value), r: 6, fill: row.simulated ? 'var(--surface)' : 'var(--win)', stroke: 'var(--win)', 'stroke-width': 2 }, element('title', {}, `${row.judge}, ${row.prompt}`)));
    }
    box.replaceChildren(drawn);
    if (phone) return;
    const alike = (part) => marks.every((other) => other[part] === marks[0][part]);
    const words = (row) => alike('judge') ? row.prompt : alike('prompt') ? row.judge : `${row.judge}, ${row.prompt}`;
    const points = marks.map((row) => { const one = row.numbers[key]; return { row, px: x(cost(row)), py: y(one.value), top: y(one.high ?? one.value), end: y(one.low ?? one.value) }; });
    nameMarks(drawn, points, words, { left: 48, right: w - 4, top: 2, bottom: h - 46 });
  }
  // A name stands beside its mark where nothing else is, else above or below with a line to the mark, at worst across
  // the bar of another mark; if there is no such place it is left out (the mark's title and the table have it).
  function nameMarks(drawn, points, words, frame) {
    const bars = points.map(({ px, top, end }) => [px - 3, top, px + 3, end]);
    const boxes = points.map(({ px, py }) => [px - 8, py - 8, px + 8, py + 8]);
    const clear = ([l, t, r, b], others) => others.every(([left, up, right, down]) => r <= left || l >= right || b <= up || t >= down);
    const free = (box) => box[0] >= frame.left && box[2] <= frame.right && box[1] >= frame.top && box[3] <= frame.bottom && clear(box, boxes);
    for (const { row, px, py } of points) {
      const text = element('text', { class: 'name' }, words(row));
      drawn.append(text);
      const wide = text.getComputedTextLength() + 2;
      const steps = [0, ...Array.from({ length: 17 }, (_, k) => [16 * (k + 1), -16 * (k + 1)]).flat()];
      const places = steps.flatMap((away) => [1, -1].map((side) => {
        const left = side > 0 ? px + 11 : px - 11 - wide;
        return { away, side, left, box: [left, py + away - 8, left + wide, py + away + 8] };
      })).filter(({ box }) => free(box));
      const found = places.find(({ box }) => clear(box, bars)) ?? places[0];
      if (!found) { text.remove(); continue; }
      const { away, side, left } = found;
      boxes.push(found.box);
      text.setAttribute('x', left + 1); text.setAttribute('y', py + away + 5);
      if (away) drawn.append(element('line', { x1: px + 5 * side, y1: py + 5 * Math.sign(away), x2: px + 10 * side, y2: py + away, stroke: 'var(--ink-3)' }));
    }
  }
  function ticks(low, high) {
    const raw = (high - low) / 4; const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw);
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(Number(value.toPrecision(12)));
    return found;
  }

  // The verdicts of a row are a script of their own: a page opened from a file may load nothing else.
  const kinds = { all: 'all', flips: 'flips', wrong: 'wrong', unusable: 'without a verdict' };
  const first = { consistency: 'flips', accuracy: 'wrong', unusable: 'unusable' };
  function open(row, key) {
    opened = { row, kind: first[key] ?? 'all' };
    const one = key ? row.numbers[key] : null;
    $('verdicts-title').textContent = `${row.judge}, ${row.prompt}`;
    $('verdicts-number').textContent = one ? `${columns.get(key).name}: ${format(key, one.value)}${bounds(key, one)} from ${one.items.toLocaleString('en')} items, n ${one.n.toLocaleString('en')}. ${columns.get(key).about}` : '';
    const facts = [['Model, as reported', row.model], ['Model, as requested', row.requested || 'unknown'], ['Asked and readable', `${row.asked.toLocaleString('en')} and ${row.readable.toLocaleString('en')}`], ['Not read again', row.imported ? 'all: imported verdicts have no requests, so prompt and texts cannot be checked' : row.not_read_again ? `${row.not_read_again.toLocaleString('en')}: their record lacks what they were read from` : 'none'], ['Prompt', row.prompt_hash || 'unknown'], ['Parser', row.reading_hash || 'unknown'], ['Items', `${row.set}, ${setName(row.set)}`], ['Run by', row.by || 'not stated'], ['Date', row.date || 'unknown'], ['Records', `records/${row.study}/judgements.jsonl.gz`]];
    $('verdicts-facts').replaceChildren(...facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
    $('verdicts-kind').value = opened.kind;
    $('verdicts').showModal();
    list();
    if (!loaded[row.id]) document.head.append(element('script', { src: `verdicts/${encodeURIComponent(row.id)}.js` }));
  }
  window.boardVerdicts = (id, found) => { loaded[id] = found; list(); };
  function list() {
    if (!opened) return;
    const found = loaded[opened.row.id];
    if (!found) { $('verdicts-count').textContent = 'Loading.'; $('verdicts-table').replaceChildren(); return; }
    const keep = { all: () => true, flips: (one) => one[5], wrong: (one) => one[4] === 0, unusable: (one) => one[3] === null }[opened.kind];
    const kept = found.rows.filter(keep);
    const most = 200;
    $('verdicts-count').textContent = `${kept.length.toLocaleString('en')} of ${found.rows.length.toLocaleString('en')} judgements${kept.length > most ? `; the first ${most} are listed` : ''}`;
    const cell = (text) => element('td', {}, text);
    $('verdicts-table').replaceChildren(element('thead', {}, element('tr', {}, ...['Line', 'Item', 'Shown', 'Chosen', 'Right', 'Flip'].map((one) => element('th', { scope: 'col' }, one)))),
      element('tbody', {}, ...kept.slice(0, most).map(([at, item, shown, pick, right, flip, noise]) => element('tr', {}, cell(String(at)), cell(item), cell(shown.map((one) => found.models[one]).join(', ') + (noise ? ' (repeat)' : '')),
        cell(pick === null ? 'no verdict' : pick < 0 ? 'tie' : found.models[shown[pick]]), cell(right < 0 ? '\u2013' : right ? 'yes' : 'no'), cell(flip ? 'yes' : 'no')))));
  }

  function choices(select, values, all) {
    select.append(element('option', { value: '' }, all), ...values.map(([value, text]) => element('option', { value }, text)));
  }
  choices($('choose-set'), setKeys.map((key) => [key, setName(key)]), 'all');
  choices($('choose-prompt'), [...new Set(board.rows.map((row) => row.prompt))].sort().map((one) => [one, one]), 'all');
  for (const [id, key] of [['choose-set', 'set'], ['choose-prompt', 'prompt']]) $(id).addEventListener('change', (event) => { state[key] = event.target.value; draw(); });
  for (const column of board.columns) {
    const box = element('input', { type: 'checkbox' });
    box.checked = state.shown.has(column.key);
    box.addEventListener('change', () => { if (box.checked) state.shown.add(column.key); else state.shown.delete(column.key); draw(); });
    $('columns-list').append(element('label', {}, box, column.name));
  }
  for (const [value, text] of Object.entries(kinds)) $('verdicts-kind').append(element('option', { value }, text));
  $('verdicts-kind').addEventListener('change', (event) => { opened.kind = event.target.value; list(); });
  $('verdicts-close').addEventListener('click', () => $('verdicts').close());
  const dark = (on) => { document.documentElement.classList.toggle('dark', on); $('theme').setAttribute('aria-pressed', String(on)); };
  dark(window.matchMedia('(prefers-color-scheme: dark)').matches);
  $('theme').addEventListener('click', () => dark(!document.documentElement.classList.contains('dark')));
  draw();
  document.fonts?.ready.then(() => chart(rows()));  // names are placed by their width
})();
