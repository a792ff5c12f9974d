// What the page does by itself: the theme, plots, clicks inside gr.HTML, hover cards. Sent once, in the head.
(() => {
  if (window.evenhand) return;
  const STORED = "evenhand-theme", VARIABLE = /var\((--[\w-]+)\)/g, FADED = /^alpha\(var\((--[\w-]+)\), ?([\d.]+)\)$/;

  // ---- theme: the address wins, then what this reader chose before, then the system (Gradio sees to that one, after this script)
  const remembered = () => { try { return localStorage.getItem(STORED); } catch { return null; } };
  let chosen = new URL(location.href).searchParams.get("__theme") || remembered();
  const settle = () => { if (chosen === "dark" || chosen === "light") document.body.classList.toggle("dark", chosen === "dark"); };
  const toggleTheme = () => {
    chosen = document.body.classList.contains("dark") ? "light" : "dark";
    try { localStorage.setItem(STORED, chosen); } catch { /* private window: it holds until the page closes */ }
    settle();
  };
  settle();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", settle);

  // ---- plots
  let loading = null, source = "";
  const library = (path = source) => window.Plotly ? Promise.resolve() : loading ||= new Promise((done, failed) => {
    const script = document.createElement("script");
    // Relative to the base, as Gradio's own files: works behind a proxy that adds a prefix.
    source = path;
    script.src = new URL("gradio_api/file=" + encodeURI(path), document.baseURI).href;
    script.onload = done;
    script.onerror = () => { loading = null; failed(new Error("plotly.min.js did not load")); };
    document.head.append(script);
  });

  const hexToRgba = (hex, alpha) => `rgba(${[1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)).join(",")},${alpha})`;
  // A copy of the figure with every var(--x) replaced by its colour now; numbers are not walked.
  const coloured = (node, style) => {
    const read = (name) => style.getPropertyValue(name).trim();
    const walk = (part) => {
      if (typeof part === "string") {
        const faded = FADED.exec(part);
        return faded ? hexToRgba(read(faded[1]), faded[2]) : part.replace(VARIABLE, (_, name) => read(name));
      }
      if (Array.isArray(part)) return typeof part[0] === "number" ? part.slice() : part.map(walk);
      if (part && typeof part === "object") return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, ["customdata", "meta", "table"].includes(key) ? value : walk(value)]));
      return part;
    };
    return walk(node);
  };
  // "xaxis.nticks": 3 and the like, for narrow boxes.
  const override = (layout, changes) => {
    for (const [path, value] of Object.entries(changes || {})) {
      const keys = path.split("."), last = keys.pop();
      let part = layout;
      for (const key of keys) part = part[key] ||= {};
      part[last] = value;
    }
  };
  // With one hover card for all lines a click names them all: take the mark nearest to the pointer.
  const nearest = ({points, event}) => {
    if (points.length === 1 || !event) return points[0];
    const box = event.target.closest(".js-plotly-plot").getBoundingClientRect(), y = event.clientY - box.top;
    const gap = (p) => Math.abs(p.yaxis._offset + p.yaxis.d2p(p.y) - y);
    return points.reduce((best, p) => gap(p) < gap(best) ? p : best);
  };

  const views = new Set();
  new MutationObserver(() => views.forEach(view => view.ask())).observe(document.body, {attributes: true, attributeFilter: ["class"]});

  const plot = (element, props, trigger, watch, path) => {
    const node = element.querySelector(".eh-plot");
    let frame = 0, busy = false, again = false, bound = false, last = "", text = null, read = null;
    // The figure comes as text (see components/layout/widgets.py); it is read once.
    const given = () => { if (props.value !== text) { text = props.value; read = typeof text === "string" && text ? JSON.parse(text) : text; } return read; };
    const clear = () => { if (node.data) window.Plotly.purge(node); node.replaceChildren(); node.removeAttribute("aria-label"); node.removeAttribute("role"); node.figure = null; evenhand.replay(node, null); bound = false; last = ""; };
    const draw = async () => {
      const figure = given();
      if (!figure || !figure.data) return clear();
      const width = node.clientWidth;
      if (!width) return;                       // in a hidden tab: the ResizeObserver calls again
      const dark = document.body.classList.contains("dark"), state = `${width} ${dark} ${typeof text === "string" ? text : JSON.stringify(text)}`;
      if (state === last) return;
      await library(path);
      const {data, layout, config = {}, narrow, summary = ""} = coloured(figure, getComputedStyle(node));
      if (width < 480) override(layout, narrow);
      node.style.height = `${layout.height}px`;
      node.setAttribute("role", "img");
      node.setAttribute("aria-label", summary);
      if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;   // a finger scrolls the page
      await window.Plotly.react(node, data, {...layout, width, autosize: false}, {displayModeBar: false, showTips: false, ...config});
      last = state;
      node.figure = figure;
      evenhand.replay(node, figure);
      if (bound) return;
      bound = true;
      const showBand = (name) => {   // Elo curves: only the band of the model pointed at
        const bands = node.data.map((trace, at) => trace.meta?.band ? at : -1).filter(at => at >= 0);
        if (bands.length) window.Plotly.restyle(node, {visible: bands.map(at => node.data[at].meta.band === name)}, bands);
      };
      node.on("plotly_hover", ({points}) => points[0]?.data.meta?.contestant && showBand(points[0].data.meta.contestant));
      node.on("plotly_unhover", () => showBand(null));
      node.on("plotly_click", (click) => {
        const point = nearest(click), customdata = point.customdata ?? point.data.meta ?? null;
        if (customdata !== null) trigger("select", {customdata, x: point.x, y: point.y});
      });
    };
    const run = async () => {
      if (busy) { again = true; return; }
      busy = true;
      do { again = false; try { await draw(); } catch (error) { console.error("Evenhand plot:", error); } } while (again);
      busy = false;
    };
    const view = {ask: () => {
      if (!node.isConnected) { views.delete(view); sizes.disconnect(); return; }
      if (!frame) frame = requestAnimationFrame(() => { frame = 0; run(); });
    }};
    const sizes = new ResizeObserver(view.ask);
    sizes.observe(node);
    views.add(view);
    watch("value", view.ask);
    view.ask();
  };

  // One component receives the clicks on the marks of all views (MarkEvents in components/layout/widgets.py).
  let markTrigger = null;
  // The path of Plotly comes with it: a matrix can be saved as a picture before any chart is drawn.
  const sendMarks = (trigger, path) => { markTrigger = trigger; source ||= path; };
  const sendMark = (name, data) => markTrigger?.(name, data);

  // ---- clicks inside gr.HTML: [data-select='{"judge": "x"}'] reaches Python's .select() as EventData._data
  const clicks = (element, trigger, watch) => {
    element.addEventListener("click", (event) => {
      const target = event.target.closest("[data-select]");
      if (!target || !element.contains(target) || target.disabled) return;
      event.preventDefault();
      const texts = [...(target.closest("[data-fields]")?.querySelectorAll("textarea") ?? [])];
      const fields = texts.length ? {fields: Object.fromEntries(texts.map(({name, value}) => [name, value]))} : {};
      (target.closest("[data-marks]") ? sendMark : trigger)("select", {...JSON.parse(target.dataset.select), ...fields});
    });
    // Gradio writes the new HTML over the old attribute by attribute: what the reader unfolded would close.
    const open = new Set();
    element.addEventListener("toggle", ({target}) => { if (target.matches("details")) open[target.open ? "add" : "delete"](foldName(target)); }, true);
    watch("value", () => element.querySelectorAll("details").forEach(details => { if (open.has(foldName(details))) details.open = true; }));
  };
  const foldName = (details) => details.dataset.keep || details.querySelector("summary")?.textContent;

  // ---- the panels of a view, written here: one whose HTML is as before stays, with its chart, zoom and what is unfolded
  const panels = (element, props, trigger, watch, path) => {
    const box = element.querySelector(".eh-panels");
    let texts = new Map(), shape = null;        // HTML of each panel as it came; the HTML around them
    const inBox = () => new Map([...box.querySelectorAll("[data-panel]")].map(node => [node.dataset.panel, node]));
    const show = () => {
      const made = document.createElement("template"), old = inBox(), before = texts, parts = new Map();
      made.innerHTML = props.value ?? "";
      texts = new Map();
      for (const node of made.content.querySelectorAll("[data-panel]")) {
        const name = node.dataset.panel, place = document.createElement("i"), was = old.get(name);
        texts.set(name, node.outerHTML);
        const same = was && before.get(name) === texts.get(name);
        place.dataset.place = name;
        node.replaceWith(place);
        parts.set(name, {place, node: same ? was : node, was});
        if (!same && was) for (const chart of node.querySelectorAll(".eh-plot")) {   // a chart that is drawn takes the new figure
          const drawn = was.querySelector(`#${CSS.escape(chart.parentElement.id)} .eh-plot`);
          if (drawn?.take) { drawn.take(chart.dataset.figure); chart.replaceWith(drawn); }
        }
      }
      const active = document.activeElement, focus = box.contains(active) ? active.closest("[data-control]")?.dataset.control : null;
      const open = new Set([...box.querySelectorAll("details[open]:not(.eh-save)")].map(foldName));
      if (made.innerHTML === shape) parts.forEach(({node, was}) => { if (node !== was) was.replaceWith(node); });
      else {
        shape = made.innerHTML;
        parts.forEach(({place, node}) => place.replaceWith(node));
        box.replaceChildren(made.content);
      }
      box.querySelectorAll("details").forEach(details => { if (open.has(foldName(details))) details.open = true; });
      if (focus) { const control = box.querySelector(`[data-control="${focus}"]`); (control?.querySelector(":checked") ?? control)?.focus({preventScroll: true}); }
      for (const node of box.querySelectorAll(".eh-plot")) {
        if (node.take) continue;
        const figure = {value: node.dataset.figure};
        let again = () => {};
        plot(node.parentElement, figure, sendMark, (_, ask) => { again = ask; }, path);
        node.take = (text) => { figure.value = text; again(); };
      }
    };
    clicks(element, trigger, () => {});
    box.addEventListener("change", ({target}) => {
      const control = target.closest("[data-control]");
      if (control) evenhand.setControl(control.dataset.control, target.value);
    });
    watch("value", show);
    show();
  };

  addEventListener("beforeprint", () => document.querySelectorAll("details.eh-more").forEach(details => { details.open = true; }));

  // ---- hover cards: lines of data-tip as text, never as HTML
  const tip = document.createElement("div");
  tip.className = "eh-tip";
  tip.id = "eh-tip";
  tip.setAttribute("role", "tooltip");
  let shown = null;
  // Terms of the glossary come once, with the page; a label names its term in data-term.
  const help = JSON.parse(document.querySelector("#eh-help-data")?.textContent || "{}");
  const terms = Object.fromEntries((help.terms ?? []).map(pair => [pair[0].toLowerCase(), pair]));
  const hide = () => { shown?.removeAttribute("aria-describedby"); shown = null; tip.classList.remove("on"); };
  const show = (target) => {
    if (!target) return hide();
    if (target === shown) return;
    hide();
    shown = target;
    if (target.dataset.term) target.setAttribute("aria-describedby", tip.id);
    tip.replaceChildren(...(terms[target.dataset.term] ?? target.dataset.tip?.split("\n") ?? []).map(line => { const row = document.createElement("div"); row.textContent = line; return row; }));
    if (!tip.isConnected) document.body.append(tip);
    const at = target.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(innerWidth - own.width - 8, at.left + at.width / 2 - own.width / 2));
    const top = at.top - own.height - 8 > 8 ? at.top - own.height - 8 : at.bottom + 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${top}px`;
    tip.classList.add("on");
  };
  // A mark of a chart and the row of a table with the same data-rule are highlighted together.
  let twin = null;
  const pair = (rule) => {
    if (rule === twin) return;
    twin = rule;
    document.querySelectorAll("[data-rule]").forEach(one => one.classList.toggle("twin", one.dataset.rule === rule));
  };
  const over = (event) => {
    show(event.target.closest?.("[data-term], [data-tip]"));
    pair(event.target.closest?.("[data-rule]")?.dataset.rule ?? null);
  };
  document.addEventListener("pointerover", over);
  document.addEventListener("focusin", over);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, {capture: true, passive: true});
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !shown) return;
    if (shown.dataset.term && shown === document.activeElement) event.stopImmediatePropagation();   // the drawer around it stays
    hide();
  }, true);
  document.addEventListener("click", (event) => { hide(); const term = event.target.closest("[data-term]"); if (term) show(term); if (event.target.closest("#eh-theme")) toggleTheme(); });

  // ---- the address carries the view: a link shows exactly what is seen. Study and tab always; of the
  // rest, what belongs to the tab in view: Results and Inspect both have a judge, and mean it differently.
  const scopes = {}, ALWAYS = ["study", "tab", "__theme", "blind", "token"];
  let inView = null;
  const write = (url, moved = false) => {
    for (const name of [...url.searchParams.keys()]) if (!ALWAYS.includes(name)) url.searchParams.delete(name);
    for (const [name, value] of Object.entries(scopes[url.searchParams.get("tab")] ?? {})) if (value) url.searchParams.set(name, value);
    history[moved ? "pushState" : "replaceState"](history.state, "", url);
    if (moved) scrollTo(0, 0);                  // a tab opens at its top; Back restores the place
    inView = url.searchParams.get("study");
    document.body.classList.toggle("eh-at-home", tabOf(url) === "home");
  };
  const tabs = () => [...document.querySelectorAll("#eh-tabs > .tab-wrapper button[role=tab]")];
  const nameOf = (tab) => tab?.textContent.trim().toLowerCase() ?? "";
  const tabOf = (url) => url.searchParams.get("tab") ?? (url.searchParams.get("study") ? "results" : nameOf(tabs()[0]));
  const openTab = (name) => tabs().find(tab => nameOf(tab) === name)?.click();
  const remember = (values) => {
    const url = new URL(location.href), before = url.searchParams.get("study"), from = tabOf(url);
    // A page opened without an address shows its first tab; the study that the server then names does not change that.
    if (!before && !url.searchParams.get("tab") && !values.tab) url.searchParams.set("tab", from);
    // A link's token is for its study: the address of another must not give it away.
    if (values.study && before && values.study !== before) url.searchParams.delete("token");
    for (const [name, value] of Object.entries(values)) value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
    write(url, "tab" in values && tabOf(url) !== from);
  };
  // Back leads to the tab one came from, not out of the page; of another study the page is opened anew.
  window.addEventListener("popstate", () => {
    const url = new URL(location.href);
    if (inView !== null && url.searchParams.get("study") !== inView) return location.reload();
    openTab(tabOf(url));
  });
  // What a tab shows: `names` with their `values`; what is as it starts is not written.
  const scope = (tab, names, starts, values) => {
    const text = (value) => Array.isArray(value) ? value.join(",") : `${value ?? ""}`;
    const made = scopes[tab] = Object.fromEntries(names.map((name, i) => [name, text(values[i]) === text(starts[i]) ? "" : text(values[i])]));
    if (tab === "results") nameFilters(made);
    write(new URL(location.href));
  };
  document.addEventListener("click", (event) => {
    const tab = event.target.closest("#eh-tabs > .tab-wrapper button[role=tab]");
    if (tab) remember({tab: nameOf(tab)});
  });

  // A link to another view of Results: [data-view=Ranking] presses the switch.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-view]");
    if (!link) return;
    if (!document.querySelector("#eh-results-view")?.getClientRects().length) openTab("results");
    showView(link.dataset.view);
    scrollTo({top: 0});
    if (link.dataset.to) goTo(link.dataset.to);
  });
  // A tab has no content before it is first opened: its switch is pressed when it is there.
  const showView = (view, tries = 200) => {
    const label = viewLabel(view);
    if (label) label.click();
    else if (tries) setTimeout(() => showView(view, tries - 1), 50);
  };
  const viewLabel = (view) => document.querySelector(`#eh-results-view [data-testid="${CSS.escape(view)}-radio-label"]`);
  // A link to another tab: [data-tab=vote]; with [data-to="#id"], to the first such element there.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-tab]");
    if (!link) return;
    openTab(link.dataset.tab);
    scrollTo({top: 0});
    if (link.dataset.to) goTo(link.dataset.to);
  });
  // The tab is filled by the server: the element is shown when it is there, in an opened fold.
  const goTo = (selector, tries = 200) => {
    const found = document.querySelector(selector);
    for (let fold = found?.closest("details:not([open])"); fold; fold = fold.parentElement.closest("details:not([open])")) fold.open = true;
    if (found?.getClientRects().length) {
      found.scrollIntoView({block: found.offsetHeight < innerHeight ? "center" : "start"});
      found.focus({preventScroll: true});
    } else if (tries) setTimeout(() => goTo(selector, tries - 1), 50);
  };
  // A page opened anew by [data-go] with [data-to] ends at that element, which may take as long as opening a study.
  const ahead = sessionStorage.getItem("eh-to");
  sessionStorage.removeItem("eh-to");
  if (ahead) goTo(ahead, 2400);
  // A button that presses another one: [data-click="#eh-share"].
  document.addEventListener("click", (event) => document.querySelector(event.target.closest("[data-click]")?.dataset.click ?? "#none")?.click());

  // A link with values for controls of Results, such as a judge's report card: the page is opened anew with them.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-go]");
    if (!link) return;
    const url = new URL(location.href);
    for (const name of [...url.searchParams.keys()]) if (!ALWAYS.includes(name)) url.searchParams.delete(name);
    for (const [name, value] of Object.entries({tab: "results", ...JSON.parse(link.dataset.go)})) url.searchParams.set(name, value);
    if (link.dataset.to) sessionStorage.setItem("eh-to", link.dataset.to);
    location.assign(url);
  });

  // ---- a view is being drawn: an element of its own, since a class on the body restyles the whole page
  const badge = document.createElement("div");
  badge.id = "eh-drawing";
  badge.setAttribute("role", "status");
  let patience = 0, marking = 0;
  // Empty panels show grey lines until they are drawn; panels appear one after the other, hence the repeats.
  const markEmpty = () => {
    for (const panel of document.querySelectorAll(".eh-panel")) panel.classList.toggle("eh-wait", !!panel.querySelector(".prose:not(:has(*))"));
    marking = setTimeout(markEmpty, 300);
  };
  const unmarkEmpty = () => document.querySelectorAll(".eh-wait").forEach((panel) => panel.classList.remove("eh-wait"));
  const RESULTS = "#eh-results-finding, #eh-results-kpis, #eh-results-data, .eh-view";
  const drawing = (on) => {
    clearTimeout(patience);
    clearTimeout(marking);
    on ? markEmpty() : unmarkEmpty();
    for (const part of document.querySelectorAll(RESULTS)) { part.classList.toggle("eh-dim", on); if (!on) part.classList.remove("eh-old"); }
    if (!badge.isConnected) document.body.append(badge);
    badge.textContent = on ? "Drawing\u2026" : "";
    badge.classList.toggle("on", on);
  };
  const pressDraw = () => document.querySelector("#eh-draw")?.click();
  // Values of the view, the filters and the controls, in the order of their names in the address: kept here, sent as JSON.
  let names = [], starts = [];
  const hold = (values) => { scope("results", names, starts, values); evenhand.held = values; evenhand.asked = JSON.stringify(values); };
  const redraw = (values, changed = false) => {
    const before = evenhand.asked;
    if (opensStudy()) return;
    hold(values);
    if (changed && evenhand.asked === before) return;
    drawing(new URL(location.href).searchParams.get("tab") === "results");
    pressDraw();
  };
  // `given`: values of the menus, then the controls of the study just opened as JSON; later the page knows those better.
  const drawAll = (initial, given, settling) => {
    const menus = given.slice(0, -1), known = settling ? null : evenhand.held;
    [names, starts] = [Object.keys(initial), Object.values(initial)];
    if (!settling && opensStudy()) return;
    const values = [...menus, ...(known ? known.slice(menus.length) : JSON.parse(given.at(-1)))];
    hold(values);
    if (settling && settleView(values[0])) return;
    redraw(values);
  };
  const setControl = (name, value) => { hold(evenhand.held.with(names.indexOf(name), value)); pressDraw(); };

  const markHome = () => { if (tabs().length) document.body.classList.toggle("eh-at-home", tabOf(new URL(location.href)) === "home"); };   // until then as first.js has it
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", markHome) : markHome();

  // A link to a result: its panels are empty until the page has asked for them, and somebody waits.
  const opening = () => {
    if (tabOf(new URL(location.href)) !== "results" || !document.querySelector("gradio-app, .gradio-container")) return;
    drawing(true);
    patience = setTimeout(() => drawing(false), 15000);
  };
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", opening) : opening();

  // The view that a visitor chose for a study stays, also when it was chosen while the study was being opened:
  // the server's answer resets the switch. Until then nothing is drawn, for the other controls are those of the study before.
  let viewChoice = null, openedStudy = null, openingStudy = true, hiding = 0;
  // The menu names a study before Gradio reports the change.
  const chooseView = (view) => { viewChoice = {study: document.querySelector("#eh-study input")?.value || openedStudy, view}; };
  const opensStudy = () => openingStudy;
  const staleNote = (on) => document.querySelector("#eh-note")?.classList.toggle("eh-stale", on);   // it describes the study before
  // The address names a study as soon as it is chosen, also while its results are still being drawn;
  // the numbers of the study before must not stand under its name.
  const startOpening = (study) => {
    openingStudy = true;
    if (viewChoice) viewChoice = openedStudy === null ? {...viewChoice, study} : viewChoice.study === study ? viewChoice : null;
    openedStudy = study;
    staleNote(true);
    document.querySelectorAll(RESULTS).forEach(part => part.classList.add("eh-old"));
    clearTimeout(hiding);
    hiding = setTimeout(() => { openingStudy = false; document.querySelectorAll(".eh-old").forEach(part => part.classList.remove("eh-old")); }, 30000);   // never hidden for good
    const url = new URL(location.href), named = url.searchParams.get("study");
    if (!study || named === study) return;
    if (named) return remember({study});
    url.searchParams.set("tab", tabOf(url));
    url.searchParams.set("study", study);
    history.replaceState(history.state, "", url);   // the view that the address asks for stays
    inView = study;
  };
  // True if another view was chosen than the one the study opens with: its switch is pressed, which draws it.
  const settleView = (view) => {
    openingStudy = false;
    const wanted = viewChoice && viewChoice.study === openedStudy ? viewChoice.view : view;
    if (wanted === view || !viewLabel(wanted)) return false;
    pressView(wanted);
    return true;
  };
  // The switch may still show the value from before the answer: it is pressed until the page has taken the view.
  const pressView = (view, tries = 40) => {
    if (viewChoice?.view !== view || openingStudy || evenhand.held?.[0] === view) return;
    const label = viewLabel(view);
    if (label && !label.querySelector("input")?.checked) label.click();
    if (tries) setTimeout(() => pressView(view, tries - 1), 50);
  };

  // Filters: a button shows them; those in use are named beside it.
  const FILTERS = {prompt: "Prompt", category: "Category", contestants: "Models", rule: "Combine orders", suspects: "Suspects"};
  const nameFilters = (values) => {
    const place = document.querySelector("#eh-filter-active");
    if (!place) return;
    place.replaceChildren(...Object.entries(FILTERS).filter(([name]) => values[name]).map(([name, title]) => {
      const pill = document.createElement("button");
      Object.assign(pill, {type: "button", className: "eh-btn pill", textContent: `${title}: ${values[name].replaceAll(",", ", ")}`});
      pill.dataset.unfold = "#eh-filter-box";
      pill.dataset.focus = `#eh-filter-${name} input`;
      return pill;
    }));
  };
  const unfold = (selector, open) => {
    const box = document.querySelector(selector), button = document.querySelector(`[data-unfold="${selector}"][aria-expanded]`);
    if (!box) return;
    if (box.tagName === "DETAILS") box.open = open ?? !box.open;
    else box.classList.toggle("open", open);
    button?.setAttribute("aria-expanded", String(box.classList.contains("open")));
  };
  document.addEventListener("click", ({target, isTrusted}) => {
    const button = target.closest?.("[data-unfold]");
    if (button) { unfold(button.dataset.unfold, button.dataset.focus ? true : undefined); document.querySelector(button.dataset.focus || "#none")?.focus(); return; }
    const box = document.querySelector("#eh-filter-box.open");
    if (box && isTrusted && target.isConnected && !box.contains(target) && !target.closest("ul.option-list, [role=listbox]")) unfold("#eh-filter-box", false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.querySelector("#eh-filter-box.open")) { unfold("#eh-filter-box", false); document.querySelector("#eh-filter-pill button")?.focus(); }
  });
  // ---- keyboard: Gradio's menus open when they get the focus; by Tab that would cover the page
  let pointerAt = 0;
  const isMenu = (node) => node.matches?.("input[role=combobox]");
  const reopen = (node) => { node.dataset.opens = "1"; node.blur(); node.focus(); setTimeout(() => { delete node.dataset.opens; }, 300); };
  document.addEventListener("pointerdown", ({target}) => { pointerAt = Date.now(); if (isMenu(target) && target === document.activeElement && target.getAttribute("aria-expanded") !== "true") reopen(target); }, true);
  document.addEventListener("focus", (event) => {
    if (!isMenu(event.target) || Date.now() - pointerAt < 500 || event.target.dataset.opens) return;
    event.stopImmediatePropagation();
  }, true);
  document.addEventListener("keydown", (event) => {
    const node = event.target, open = node.getAttribute?.("aria-expanded") === "true";
    if (isMenu(node) && ["Tab", "Shift"].includes(event.key)) {   // Gradio opens a menu at any other key; leaving it closes it
      event.stopImmediatePropagation();
      if (open && event.key === "Tab") node.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
      return;
    }
    if (!isMenu(node) || open || !["ArrowDown", "ArrowUp", "Enter", " "].includes(event.key)) return;
    if (node.dataset.opens) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    reopen(node);
  }, true);
  // Skip link: the focus moves to the content of the tab in view.
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.(".eh-skip")) return;
    event.preventDefault();
    const panel = [...document.querySelectorAll("#eh-tabs > .tabitem")].find(node => node.getClientRects().length);
    if (panel) { panel.tabIndex = -1; panel.focus(); panel.scrollIntoView({block: "start"}); }
  });

  const evenhand = window.evenhand = {chooseView, opensStudy, opening: startOpening, settleView, drawing, drawAll, redraw, setControl, panels, plot, coloured, library, clicks, sendMark, sendMarks, toggleTheme, settleTheme: settle, remember, scope, openTab, help};
})();

// ---- Inspect: menus and search that filter, keys that step, a list that follows, a prompt that can be copied
(() => {
  const {evenhand} = window;
  if (evenhand.fields) return;
  const visible = (node) => node.getClientRects().length > 0 && !node.disabled;

  // [data-field=judge]: a menu or search box; its value reaches .select() as {"set": {"judge": …}}
  evenhand.fields = (element, trigger, watch) => {
    element.addEventListener("change", ({target}) => {
      const {field} = target.dataset;
      if (field) trigger("select", {set: {[field]: target.value}});
    });
    // Gradio changes attributes; what a reader chose or typed is a property and would stay.
    watch("value", () => element.querySelectorAll("[data-field]").forEach(node => {
      if (node.tagName === "SELECT") node.value = node.querySelector("option[selected]")?.value ?? "";
      else if (node !== document.activeElement) node.value = node.getAttribute("value") ?? "";
    }));
  };

  // After a step the line of the list comes into view, and the opened comparison starts at its top.
  let pressed = "";
  evenhand.length = (text, most) => {
    const n = [...(text || "").trim()].length, kind = n > most ? "eh-bad" : "eh-mute";
    return `<div class="eh"><span class="${kind}">${n.toLocaleString("en")} of ${most.toLocaleString("en")} characters</span></div>`;
  };
  evenhand.answers = () => JSON.stringify([...document.querySelectorAll(".eh-answer")].map(row => [row.querySelector("input").value, row.querySelector("textarea").value]));
  evenhand.follow = (element, watch) => {
    let last = null;
    const tell = () => {
      const address = element.querySelector("[data-address]");
      if (address) { const said = JSON.parse(address.dataset.address); evenhand.scope("inspect", Object.keys(said), [], Object.values(said)); }
    };
    watch("value", () => {
      pressed = "";
      const line = element.querySelector("[aria-current]"), box = line?.closest("ol");
      if (line) {
        const at = line.getBoundingClientRect(), frame = box.getBoundingClientRect();
        if (at.top < frame.top) box.scrollTop -= frame.top - at.top;
        else if (at.bottom > frame.bottom) box.scrollTop += at.bottom - frame.bottom;
      }
      const panel = element.querySelector("[data-key]"), key = panel?.dataset.key ?? null;
      if (panel && last !== null && key !== last && panel.getBoundingClientRect().top < 0) panel.scrollIntoView({block: "start"});
      last = key ?? last;
      tell();
    });
    tell();   // a tab is built when it is first opened: by then the value is there
  };

  // [data-keys="j ArrowRight"]: a button pressed, or a box focused, by a key while nobody types
  const typing = (node) => node.isContentEditable || node.matches?.("input, textarea, select");
  const arrows = (node) => node.matches?.("[role=tab], [role=radio], [role=slider], [role=listbox], [role=option]");   // these have a use for them
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || (event.key.startsWith("Arrow") && arrows(event.target))) return;
    const target = [...document.querySelectorAll("[data-keys]")].find(node => visible(node) && node.dataset.keys.split(" ").includes(event.key));
    if (!target) return;
    event.preventDefault();
    if (target.matches("input")) return target.focus();
    const asks = target.dataset.select ?? "";
    if (asks && asks === pressed) return;       // a key held down: this step is on its way
    pressed = asks;
    target.click();
  });

  // [data-copy=".eh-msg span"]: the text of these parts of the same drawer
  document.addEventListener("click", async ({target}) => {
    const button = target.closest?.("[data-copy]");
    if (!button) return;
    const parts = [...(button.closest("details") ?? document).querySelectorAll(button.dataset.copy)];
    try { await navigator.clipboard.writeText(parts.map(part => part.textContent).join("\n\n")); button.textContent = "Copied"; } catch { button.textContent = "Copying is not allowed here"; }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
})();

// ---- Study: the form is a view of the study file. What a reader changes is numbered and sent until the server has seen it.
(() => {
  const {evenhand} = window;
  if (evenhand.form) return;
  const keys = Object.create(null);             // judge -> {key, url}: here, and in the requests of a run or a test; nowhere else
  const removed = {}, refused = {};             // judge -> the host of a key that was deleted; judge -> why a key was not taken
  const LONGEST_KEY = 512;                      // as LONGEST in judges/security/key_store.py
  const boxes = new Set(), lines = {};          // the pieces of the form; the invisible components that carry values to the server
  let waiting = [], number = 0, typed = 0, focused = "", focusedKey;

  // Gradio repeats the first event of a burst, not the last: so the changes travel as a value, which is read when it is sent.
  evenhand.wire = (name, props, trigger) => { lines[name] = {props, trigger}; };
  const send = () => { lines.edits.props.value = JSON.stringify(waiting); lines.edits.trigger("select", {}); };
  const say = (entry) => {
    waiting = waiting.filter(old => !entry.set || old.set !== entry.set);
    waiting.push({n: ++number, ...entry});
    evenhand.typedInFile();                     // the form's change is made in the file as typed
    send();
  };
  const tell = () => { lines.keys.props.value = JSON.stringify(keys); boxes.forEach(mark); };
  const originOf = (url) => { try { return new URL(url).origin; } catch { return ""; } };
  const keyState = ({keyOf, none}) => {
    if (refused[keyOf]) return refused[keyOf];
    if (keys[keyOf]) return `key set, goes to ${originOf(keys[keyOf].url) || "no valid address"} only`;
    return removed[keyOf] ? `key removed: it was typed for ${removed[keyOf]}; type the key for this address` : none;
  };
  const mark = (box) => {
    box.querySelectorAll("[data-key-of]").forEach(node => { node.textContent = keyState(node.dataset); });
    box.querySelectorAll("[data-keys-of]").forEach(node => { node.classList.toggle("eh-lacks", JSON.parse(node.dataset.keysOf).some(name => !keys[name])); });
    // The strip shows the first reason that still holds instead of the price; a missing key is one until it is typed.
    const blocked = [...box.querySelectorAll("[data-reasons]")].filter(markReasons);
    box.classList.toggle("eh-keyless", blocked.length > 0);
  };
  const markReasons = (block) => {
    const heads = [...block.querySelectorAll("[data-reason]")], list = block.querySelector(".eh-chks");
    const open = heads.filter(({dataset: {needsKey}}) => needsKey === undefined || !keys[needsKey]);
    heads.forEach(node => { node.hidden = node !== open[0]; });
    list.querySelectorAll(".no").forEach(node => { node.hidden = open.length < 2 || Boolean(keys[node.dataset.keyMissing]); });
    list.querySelectorAll("[data-key-typed]").forEach(node => { node.hidden = !keys[node.dataset.keyTyped]; });
    block.hidden = !open.length;
    return open.length > 0;
  };
  const faultOf = (key) => {
    if (key.length > LONGEST_KEY) return `key not taken: it has more than ${LONGEST_KEY} characters`;
    return /\s/.test(key) ? "key not taken: it has white space inside" : "";
  };
  const typedAt = {};                           // id of a key field -> {key, url} as typed there
  const takeKey = (input) => {
    const name = input.dataset.key, key = input.value.trim(), fault = faultOf(key);
    const url = (input.closest(".eh-drawer") ?? input.closest(".eh-jf"))?.querySelector("[data-field$='.base_url']")?.value ?? input.dataset.keyUrl;
    typedAt[input.id] = {key, url};
    putKey(name, key, url, fault);
  };
  // A key typed while its judge got another name on the server belongs to the new name; never to another address.
  const settleKey = (input) => {
    const {key: name, keyUrl: url} = input.dataset, held = typedAt[input.id];
    const orphan = held?.key && !keys[name] && !refused[name] && !removed[name] && !faultOf(held.key) && originOf(held.url) === originOf(url);
    if (orphan) putKey(name, held.key, url, "");
    if (input !== document.activeElement) input.value = keys[name]?.key ?? "";
  };
  const putKey = (name, key, url, fault) => {
    delete keys[name]; delete removed[name]; delete refused[name];
    if (fault) refused[name] = fault;
    else if (key) keys[name] = {key, url};
    tell();
  };
  // The key field of the strip: taken as a whole, then the next missing key or Run has the focus.
  const useDraft = (input) => {
    const {keyDraft: name, keyUrl: url} = input.dataset, key = input.value.trim();
    if (!key) return input.focus();
    putKey(name, key, url, faultOf(key));
    if (!keys[name]) return input.focus();
    input.value = "";
    requestAnimationFrame(() => [...document.querySelectorAll("#eh-plan [data-key-draft], #eh-plan .eh-block .eh-btn, #eh-run")].find(visible)?.focus());
  };
  // A key belongs to the origin it was typed for. Changes on their way to the server are waited for: the form may still show the address before.
  const dropForeign = (box) => {
    if (waiting.length || typed) return;
    for (const {dataset: {keyOf, keyUrl}} of box.querySelectorAll(".eh-jc:not(.off) [data-key-of], .eh-jx [data-key-of]")) {
      if (!keys[keyOf] || originOf(keys[keyOf].url) === originOf(keyUrl)) continue;
      removed[keyOf] = originOf(keys[keyOf].url) || "another address";
      delete keys[keyOf];
      tell();
    }
  };

  // One errand (a test, a description) at a time: the others wait until it is back.
  let running = false;
  const rest = (on) => { running = on; boxes.forEach(box => box.querySelectorAll("[data-errand]").forEach(node => { node.disabled = on; })); };
  evenhand.idle = (study) => { rest(false); evenhand.rememberTab(study); };
  // A tab that was opened by the server, not by a click, stands in the address too, with the study that it shows.
  evenhand.rememberTab = (study) => {
    const tab = document.querySelector("#eh-tabs > .tab-wrapper [role=tab][aria-selected=true]");
    if (tab) evenhand.remember({tab: tab.textContent.trim().toLowerCase(), ...(study && {study})});
    // The header names the same study, which may hold other records now: its size and its run are drawn again.
    if (study && study === shownStudy) document.querySelector("#eh-show-run")?.click();
  };

  const valueOf = (node) => {
    if ("many" in node.dataset) return [...node.closest(".eh-form").querySelectorAll("[data-field]")].filter(other => other.dataset.field === node.dataset.field && other.checked).map(other => other.value);
    return node.type === "checkbox" ? node.checked : node.value;
  };
  const commit = (node) => {
    clearTimeout(typed);
    typed = 0;
    if ("slow" in node.dataset) boxes.forEach(box => box.classList.add("eh-busy"));   // until the form is drawn again
    say({set: node.dataset.field, to: valueOf(node)});
  };
  const busy = (node) => waiting.some(entry => entry.set === node.dataset.field) || (typed && node === document.activeElement);
  // Gradio changes attributes; what a reader chose or typed is a property and would stay.
  const settle = (node) => {
    if (busy(node)) return;
    if (node.type === "checkbox" || node.type === "radio") node.checked = node.hasAttribute("checked");
    else if (node.tagName === "SELECT") node.value = node.querySelector("option[selected]")?.value ?? "";
    else if (node.tagName === "TEXTAREA") node.value = node.textContent.replace(/^\n/, "");
    else node.value = node.getAttribute("value") ?? "";
    if (node.type === "range") slide(node);
  };
  const slide = (node) => {
    node.style.setProperty("--at", `${100 * (node.value - node.min) / (node.max - node.min)}%`);
    const told = node.parentElement.querySelector("output");
    if (told) told.textContent = node.value;
  };

  // A job reads the study file: changes on their way to it come first, for at most ten seconds.
  const startErrand = (errand, waited = 0) => {
    rest(true);
    if (waiting.length && waited < 10000) return setTimeout(() => startErrand(errand, waited + 100), 100);
    lines.errand.props.value = errand;
    lines.errand.trigger("select", {});
  };

  // Gradio changes the attributes of what is drawn: the field with the focus may have become another one.
  const returnToKey = (element) => {
    const field = focusedKey !== undefined && document.getElementById(focusedKey), active = document.activeElement;
    if (!field || field === active || !element.contains(field) || !(active === document.body || element.contains(active))) return;
    settleKey(field);
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  };
  // A character typed between the field's end and its new beginning goes to the new one.
  document.addEventListener("keydown", (event) => {
    if (focusedKey === undefined || event.target !== document.body || event.key.length !== 1 || event.ctrlKey || event.metaKey) return;
    const field = document.getElementById(focusedKey);
    if (field) { settleKey(field); field.focus(); }
  }, true);
  let wanted = "";   // the field that gets the focus once the form shows the chosen tile
  evenhand.form = (element, trigger, watch) => {
    boxes.add(element);
    element.addEventListener("input", ({target}) => {
      if (target.dataset.key !== undefined) return takeKey(target);
      if (target.type === "range") slide(target);
      if (!target.dataset.field || target.matches("select, [type=checkbox], [type=radio], [data-slow]")) return;
      clearTimeout(typed);
      typed = setTimeout(() => commit(target), 600);
    });
    element.addEventListener("change", ({target}) => {
      if (!target.dataset.field) return;
      const was = target.dataset.renames;
      if (was !== undefined && keys[was]) { keys[target.value] = keys[was]; delete keys[was]; tell(); }
      commit(target);
    });
    element.addEventListener("keydown", ({key, target}) => { if (key === "Enter" && target.dataset.keyDraft !== undefined) useDraft(target); });
    element.addEventListener("focusin", ({target}) => { focused = target.dataset.field ?? ""; focusedKey = target.dataset.key === undefined ? undefined : target.id; });   // by its place: the judge may get another name
    element.addEventListener("focusout", ({relatedTarget}) => { if (relatedTarget) focusedKey = undefined; });
    element.addEventListener("click", (event) => {
      const node = event.target.closest("[data-do], [data-errand], [data-step], [data-press], [data-goto], [data-fold], [data-use-key]");
      if (!node || node.disabled) return;
      if (node.dataset.useKey !== undefined) return useDraft(node.parentElement.querySelector("[data-key-draft]"));
      const {do: act, errand, step, press, goto, fold} = node.dataset;
      const {renames} = node.dataset;           // a judge named after its model: its key moves along
      if (act && renames !== undefined && keys[renames]) { keys[JSON.parse(act).to] = keys[renames]; delete keys[renames]; tell(); }
      if (act) { opener = closing(node) ? opener : labelOf(node); wanted = node.dataset.focusField ?? ""; say(JSON.parse(act)); }
      if (errand) startErrand(errand);
      if (goto) show(document.querySelector(goto));
      if (fold) node.setAttribute("aria-expanded", document.querySelector(fold).classList.toggle("open"));
      if (step) { const input = node.parentElement.querySelector("input"); step > 0 ? input.stepUp() : input.stepDown(); commit(input); }
      if (press) { node.closest("details.eh-pop")?.removeAttribute("open"); show(document.querySelector(press)); document.querySelector(press)?.click(); }
    });
    const update = () => {
      const seen = +(element.querySelector("[data-seen]")?.dataset.seen ?? 0);
      waiting = waiting.filter(entry => entry.n > seen);
      returnToKey(element);
      const active = document.activeElement, inside = element.contains(active) && active.dataset?.field;
      if (inside && focused && active.dataset.field !== focused) [...element.querySelectorAll("[data-field]")].find(node => node.dataset.field === focused)?.focus();
      element.querySelectorAll("[data-field]").forEach(settle);
      const next = wanted && !waiting.length && [...element.querySelectorAll("[data-field]")].find(node => node.dataset.field === wanted);
      if (next) { wanted = ""; if (focusedKey === undefined) next.focus(); }
      dropForeign(element);
      element.querySelectorAll("[data-key]").forEach(settleKey);
      element.classList.remove("eh-busy");
      if (running) rest(true);
      mark(element);
      drawers();
    };
    watch("value", update);
    update();
  };

  // Drawers: focus moves in when one opens and back to the button that opened it; Escape closes.
  let opener = "", inDrawer = "";
  const closing = (node) => "close" in node.dataset || node.dataset.do === '{"do": "close"}';
  const labelOf = (node) => node.ariaLabel || node.textContent.trim();
  const visible = (node) => node?.getClientRects().length > 0;
  const openDrawer = () => [...document.querySelectorAll("#eh-judge-drawer .eh-drawer, #eh-prompt-drawer")].find(visible);
  const show = (node) => { if (!visible(node)) return; node.scrollIntoView({block: node.matches("select") ? "center" : "start"}); if (node.matches("select, input, button, h2")) node.focus({preventScroll: true}); };
  const drawers = () => requestAnimationFrame(() => {
    const drawer = openDrawer(), name = drawer ? drawer.id || "judge" : "";
    document.body.classList.toggle("eh-drawer-open", Boolean(drawer));
    if (name === inDrawer) return;
    inDrawer = name;
    if (drawer) return drawer.querySelector("h2")?.focus({preventScroll: true});
    const back = [...document.querySelectorAll("#eh-form button")].find(node => visible(node) && labelOf(node) === opener);
    back?.focus({preventScroll: true});
  });
  new MutationObserver(() => drawers()).observe(document.body, {childList: true, subtree: true});
  const closeDrawer = () => openDrawer()?.querySelector("[data-close]")?.click();
  document.addEventListener("keydown", (event) => {
    const drawer = openDrawer();
    if (event.key === "Escape" && drawer && !event.defaultPrevented) return closeDrawer();
    if (event.key !== "Tab" || !drawer) return;
    const inside = [...drawer.querySelectorAll("button, input, select, textarea, summary, [contenteditable=true], a[href]")].filter(node => visible(node) && !node.disabled && node.tabIndex >= 0);
    const first = inside[0], last = inside.at(-1), at = document.activeElement;
    if (!drawer.contains(at) || (event.shiftKey ? at === first || at.tagName === "H2" : at === last)) { event.preventDefault(); (event.shiftKey ? last : first)?.focus(); }
  });
  document.addEventListener("click", ({target, clientX, isTrusted}) => {
    const drawer = isTrusted && openDrawer();   // the page presses hidden buttons itself
    if (drawer && !drawer.contains(target) && clientX < drawer.getBoundingClientRect().left && target.closest("#eh-form, .gradio-container")) closeDrawer();
    if (isTrusted) document.querySelectorAll("details.eh-pop[open]").forEach(menu => { if (!menu.contains(target)) menu.open = false; });
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector("details.eh-pop[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
  });

  // The form is that of the study in the header: opened late where it is not seen.
  let followedStudy = null, changesAtFollow = 0, keysInFile = 0, keysSent = 0;
  for (const event of ["keydown", "paste", "drop"]) document.addEventListener(event, ({target}) => { if (target.closest?.("#eh-yaml")) keysInFile++; }, true);
  // The last change of a burst is sent when the one before has been answered: its author may have left the file by then.
  evenhand.typedInFile = () => {
    const typing = keysInFile !== keysSent || document.querySelector("#eh-yaml .cm-focused");
    keysSent = keysInFile;
    return Boolean(typing);
  };
  const tabInView = () => document.querySelector("#eh-tabs > .tab-wrapper [role=tab][aria-selected=true]")?.textContent.trim().toLowerCase();
  evenhand.followStudy = (study) => {
    if ((study || "") === followedStudy || tabInView() !== "study") return;   // "": the form of a new study
    document.body.classList.add("eh-following");
    changesAtFollow = waiting.length ? -1 : number + keysInFile;
    document.querySelector("#eh-follow")?.click();
  };
  // Once hidden, the loading screen must not come back, as it would when Home is opened.
  const endLoading = () => { const screen = document.querySelector("#eh-loading"); if (screen && !screen.getClientRects().length) screen.remove(); };
  for (const event of ["pointerdown", "keydown"]) document.addEventListener(event, endLoading, true);
  if (document.querySelector("#eh-loading")) new ResizeObserver(endLoading).observe(document.querySelector("#eh-loading"));
  // Home is drawn when it is opened, not while the page opens another tab.
  evenhand.showHome = () => { if (!evenhand.blind && !document.querySelector("#eh-loading:is(.other-tab, .with-content:not(.at-home))")) document.querySelector("#eh-show-studies")?.click(); };
  // Inspect lists the comparisons of a study when its tab is opened.
  evenhand.listComparisons = () => { if (!evenhand.blind) document.querySelector("#eh-show-inspect")?.click(); };
  // What was drawn for the study knows nothing of changes on their way or made meanwhile: they are drawn once more.
  evenhand.followed = (study) => { followedStudy = study || ""; document.body.classList.remove("eh-following"); if (number + keysInFile !== changesAtFollow) send(); };

  // A run opens the Run tab when that shows its study, not the one before.
  let shownStudy = null, arriving = "", patience = 0;
  // The run stores calls: the plan in the form is drawn again when the Study tab is next opened.
  const arrive = (tab) => { arriving = ""; evenhand.starting(false); evenhand.openTab(tab); followedStudy = null; };
  evenhand.starting = (on, selector = "#eh-run, #eh-try, #eh-again, #eh-run-bar button") => {
    for (const button of document.querySelectorAll(selector)) { button.disabled = on; button.classList.toggle("eh-starting", on); }
  };
  // The live demo on Home: only its own button waits until the run has ended.
  evenhand.demoDrawn = () => {
    followedStudy = null;
    evenhand.starting(false);
    evenhand.starting(Boolean(document.querySelector("#eh-first-squares [data-demo=running]")), "#eh-again");
    // A disabled button loses the focus: it goes on to the link of the run, then of the results, never to the page's start.
    if (document.activeElement === document.body) document.querySelector("#eh-first-squares [data-demo] button")?.focus({preventScroll: true});
  };
  evenhand.openWhenShown = (tab, study) => {
    arriving = tab;
    clearTimeout(patience);                     // that of a run before
    if (study === shownStudy) document.querySelector("#eh-show-run")?.click();   // the same study: only its run is new
    patience = setTimeout(() => { if (arriving) arrive(tab); }, 20000);
  };
  evenhand.arrived = () => { if (arriving) arrive(arriving); };
  evenhand.shown = (study) => { document.querySelector("#eh-note")?.classList.remove("eh-stale"); shownStudy = study; evenhand.followStudy(study); if (tabInView() === "inspect") evenhand.listComparisons(); evenhand.arrived(); };
})();

// ---- Home: files are chosen, dropped anywhere or pasted as a table; the page says at once that it reads them
(() => {
  const {evenhand} = window;
  const atHome = () => document.body.classList.contains("eh-at-home");
  const onStudy = () => document.querySelector("#eh-upload")?.getClientRects && document.querySelector("#eh-form")?.getClientRects().length > 0;
  const inputOf = (button) => button?.parentElement.querySelector("input[type=file]") ?? button?.querySelector("input[type=file]");
  const take = (files) => {
    const input = inputOf(document.querySelector(atHome() ? "#eh-door-files" : "#eh-upload"));
    if (!input) return;
    input.files = files;
    input.dispatchEvent(new Event("change", {bubbles: true}));
  };
  const reading = (text) => {
    document.body.classList.toggle("eh-reading", Boolean(text));
    const status = document.querySelector("#eh-drop-status");
    if (status) status.textContent = text;
  };
  document.addEventListener("change", ({target}) => {
    if (!target.files?.length || target !== inputOf(document.querySelector("#eh-door-files"))) return;
    reading(target.files.length === 1 ? `Reading ${target.files[0].name} …` : `Reading ${target.files.length} files …`);
  }, true);
  evenhand.filesRead = () => {
    reading("");
    const next = document.querySelector("#eh-seen .eh-then button");
    next?.focus({preventScroll: true});
    (next ?? document.querySelector("#eh-home-notice .eh > *"))?.scrollIntoView({block: "nearest"});
  };
  document.addEventListener("dragover", (event) => { if ((atHome() || onStudy()) && event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
  document.addEventListener("drop", (event) => {
    const files = event.dataTransfer?.files;
    if (!(atHome() || onStudy()) || !files?.length || event.defaultPrevented) return;
    event.preventDefault();
    take(files);
  });
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text") ?? "";
    if (!atHome() || event.target.closest?.("input, textarea") || !/[\t,{].*\n./.test(text)) return;
    const ending = text.trimStart().startsWith("{") ? "jsonl" : text.split("\n")[0].includes("\t") ? "tsv" : "csv";
    const held = new DataTransfer();
    held.items.add(new File([text], `pasted.${ending}`));
    take(held.files);
  });
})();

// ---- Home: search in the list of studies, and the menu of a row
(() => {
  const {evenhand} = window;
  if (evenhand.studies) return;
  const field = () => document.querySelector("#eh-find"), rows = () => [...document.querySelectorAll("#eh-home-studies tr[data-find]")];
  const find = () => {
    const wanted = (field()?.value ?? "").trim().toLowerCase(), words = wanted.split(/\s+/);
    for (const row of rows()) row.hidden = (!wanted && !everyStudy && "more" in row.dataset) || !words.every(word => row.dataset.find.toLowerCase().includes(word));
    document.querySelector("[data-all-studies]")?.toggleAttribute("hidden", Boolean(wanted) || everyStudy);
    const none = document.querySelector("#eh-find-none"), hidden = rows().length > 0 && rows().every(row => row.hidden);
    if (none) none.textContent = hidden ? "No study matches." : "";
  };
  let everyStudy = false;                         // "All 23 studies" was pressed
  document.addEventListener("input", ({target}) => { if (target.id === "eh-find") find(); });
  document.addEventListener("click", ({target}) => {
    if (!target.closest?.("[data-all-studies]")) return;
    const first = rows().find(row => row.hidden);
    everyStudy = true;
    find();
    first?.querySelector("th button")?.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.id === "eh-find" && event.key === "Enter") rows().find(row => !row.hidden)?.querySelector("th button")?.click();
    if (event.key === "Escape" && event.target.matches?.("#eh-home-studies [data-field]")) { restore(event.target); event.target.closest("tr").querySelector("[data-cancel]")?.click(); }
  });
  // Leaving a changed field renames: the name is put back before the field loses the focus.
  const restore = (input) => { if (input) input.value = input.getAttribute("value"); };
  document.addEventListener("pointerdown", ({target}) => restore(target.closest?.("#eh-home-studies [data-cancel]")?.closest("tr").querySelector("[data-field]")), true);
  document.addEventListener("click", ({target}) => { const menu = target.closest?.(".eh-row-menu"); if (menu && target.closest("button")) menu.open = false; });
  // A menu closes when the focus leaves it by keyboard.
  document.addEventListener("focusout", ({target, relatedTarget}) => {
    const menu = target.closest?.("details.eh-pop[open]");
    if (menu && relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
  });
  evenhand.studies = (element, watch) => watch("value", () => requestAnimationFrame(() => {
    find();
    const input = element.querySelector("[data-field]");
    if (input && input !== document.activeElement) { input.focus(); input.select(); }
  }));
})();

// ---- Share: a drawer over the page, its link, files that come when they are made
(() => {
  const {evenhand} = window;
  if (evenhand.openDrawer) return;
  const drawer = () => document.querySelector("#eh-share-drawer"), close = () => document.querySelector("#eh-share-close")?.click();
  let voters = "";   // the token of a link for voters, shown until another link is made
  const link = () => {
    const url = new URL(location.href), all = document.querySelector("#eh-link-filters")?.checked ?? true;
    for (const name of [...url.searchParams.keys()]) if (name === "__theme" || (!all && !["study", "tab", "view", "token"].includes(name))) url.searchParams.delete(name);
    if (voters) url.search = new URLSearchParams({study: url.searchParams.get("study") ?? "", tab: "vote", blind: "1", token: voters});
    return url.href;
  };
  const fill = () => { const node = document.querySelector("#eh-link"); if (node) node.textContent = link(); };
  evenhand.link = (token) => { voters = ""; evenhand.remember({token}); fill(); };
  evenhand.linkForVoters = (token) => { voters = token; fill(); };
  evenhand.openDrawer = () => { voters = ""; fill(); document.querySelector("#eh-share-close")?.focus(); };
  // The button appears with its file; Gradio makes the link when it is pressed.
  evenhand.download = (selector) => setTimeout(() => { const node = document.querySelector(selector); (node?.querySelector("a, button") ?? node)?.click(); }, 50);
  document.addEventListener("change", ({target}) => { if (target.id === "eh-link-filters") fill(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && drawer()?.getClientRects().length) close(); });
  document.addEventListener("click", async ({target}) => {
    if (target.id !== "eh-copy-link") return;
    try { await navigator.clipboard.writeText(link()); target.textContent = "Copied"; } catch { window.prompt("Copy this link", link()); return; }
    setTimeout(() => { target.textContent = "Copy link"; }, 1500);
  });
})();

// ---- Results during a run: redrawn every five seconds, unless they are frozen; then the new replies are counted
(() => {
  const {evenhand} = window;
  if (evenhand.followRun) return;
  let frozen = false;
  const press = (selector) => document.querySelector(selector)?.click();
  const shown = () => document.querySelector("#eh-results-finding [data-done]")?.dataset.done;
  const freeze = (on) => { frozen = on; document.body.classList.toggle("eh-frozen", on); };
  evenhand.followRun = () => {
    // The finding, not the panels: these are hidden until the first verdict.
    if (document.hidden || !document.querySelector("#eh-results-finding")?.getClientRects().length) return;
    press(frozen ? "#eh-news" : "#eh-refresh");
  };
  evenhand.shownCalls = () => shown() ?? "";
  evenhand.unfreeze = () => freeze(false);
  // A view drawn while frozen has newer numbers: what is new is counted from these, and nothing after the end.
  evenhand.drawn = () => { evenhand.drawing(false); if (frozen) shown() === undefined ? freeze(false) : press("#eh-news"); };
  document.addEventListener("click", ({target}) => {
    if (target.closest("[data-freeze]")) { freeze(true); press("#eh-news"); }
    if (target.closest("[data-unfreeze]")) { freeze(false); press("#eh-refresh"); }
  });
})();

// ---- Run: the title of the browser's tab tells how far it is; P pauses and goes on
(() => {
  const {evenhand} = window;
  if (evenhand.title) return;
  let following = false;                        // a run is active
  // The end of a run: a hidden page says so in its title until it is looked at; on the Run tab, See results has the focus.
  const ended = () => {
    document.title = document.hidden ? "Run ended · Evenhand" : "Evenhand";
    if (wanted && document.hidden) notify();
    focusResults(20);
  };
  // A notification at the end, for a hidden page: the browser is asked only by a click on the button, which is hidden where notifications do not exist or are refused.
  let wanted = false;
  if ("Notification" in window && isSecureContext && Notification.permission !== "denied") document.documentElement.classList.add("eh-notifies");
  const markNotify = () => document.querySelector("#eh-notify")?.setAttribute("aria-pressed", wanted);
  evenhand.toggleNotify = async () => {
    wanted = !wanted && await Notification.requestPermission() === "granted";
    markNotify();
    document.querySelector("#eh-notify")?.toggleAttribute("data-blocked", Notification.permission === "denied");
  };
  const notify = () => {
    try {
      const shown = new Notification("Run ended", {body: document.querySelector("#eh-study input")?.value ?? "", tag: "evenhand"});
      shown.onclick = () => { window.focus(); shown.close(); };
    } catch { /* browsers of phones allow it to service workers only: the title says so */ }
  };
  const focusResults = (tries) => {
    const button = document.querySelector("#eh-see-results"), active = document.activeElement;
    if (active !== document.body && !active?.matches("#eh-pause, #eh-stop, #eh-start, #eh-retry")) return;
    if (button?.getClientRects().length) button.focus({preventScroll: true});
    else if (tries) setTimeout(() => focusResults(tries - 1), 200);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden && !following) document.title = "Evenhand"; });
  evenhand.title = (pill) => {
    const done = /(\d+)\s?%/.exec(`${pill ?? ""}`.replace(/<[^>]*>/g, " "));
    if (following && !done) ended();
    following = Boolean(done);
    markNotify();
    if (done || !document.hidden) document.title = done ? `${done[1]}\u202f% · Evenhand` : "Evenhand";
    const results = [...document.querySelectorAll("#eh-tabs > .tab-wrapper [role=tab]")].find(tab => tab.textContent.trim() === "Results");
    const calls = /data-done="(\d+)" data-planned="(\d+)"/.exec(`${pill ?? ""}`), many = (text) => (+text).toLocaleString("en");
    if (calls && results) results.dataset.partial = `Partial: ${many(calls[1])} of ${many(calls[2])}`; else delete results?.dataset.partial;
  };
  document.addEventListener("keydown", (event) => {
    if (event.key !== "p" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.isContentEditable || event.target.matches?.("input, textarea, select")) return;
    const button = document.querySelector("#eh-pause");
    if (button?.getClientRects().length) button.click();
  });
})();

// ---- Replay: a scrubber under a figure that asks for one, on the figure's own data
(() => {
  const {evenhand} = window;
  if (evenhand.replay) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)"), SECONDS = 6;
  const count = (value) => Math.round(value).toLocaleString("en-US").replace("-", "\u2212");
  const bold = (text) => { const made = document.createElement("b"); made.textContent = text; return made; };
  // The value of a line at x: that of the last point which is not later.
  const valueAt = ({x, y}, at) => {
    let low = 0, high = x.length - 1;
    while (low < high) { const middle = (low + high + 1) >> 1; x[middle] <= at ? low = middle : high = middle - 1; }
    return y[low];
  };

  const build = (node) => {
    const root = document.createElement("div"), bar = document.createElement("div"), said = document.createElement("p"), veil = document.createElement("div");
    const button = document.createElement("button"), range = document.createElement("input");
    root.className = "eh eh-replay";
    bar.className = "bar";
    veil.className = "eh-veil";
    said.className = "eh-small";
    button.type = "button";
    button.className = "eh-btn";
    Object.assign(range, {type: "range", min: 0, step: 1});
    bar.append(button, range);
    root.append(bar, said);
    node.after(root);
    const part = {root, veil, end: 0, lines: [], unit: "", frame: 0};

    const tell = () => {
      const at = Number(range.value), words = [`After `, bold(count(at)), ` ${part.unit}: `];
      const values = part.lines.map(line => [line.meta.contestant, valueAt(line, at)]).sort((a, b) => b[1] - a[1]);
      values.forEach(([name, value], i) => { if (i) words.push(" \u00b7 "); const each = document.createElement("span"); each.className = "eh-nw"; each.append(bold(count(value)), ` ${name}`); words.push(each); });
      said.replaceChildren(...words);
      said.hidden = at >= part.end;   // at the end the ratings are those of the leaderboard
      range.setAttribute("aria-valuetext", said.textContent);
      range.style.setProperty("--range_progress", `${part.end ? 100 * at / part.end : 100}%`);
      part.place();
    };
    // What is still to come is veiled; the line is where we are.
    part.place = () => {
      const axes = node._fullLayout, at = Number(range.value);
      if (!axes?.xaxis) return;
      if (veil.parentNode !== node) node.append(veil);
      const {xaxis, yaxis} = axes, left = xaxis._offset + xaxis.l2p(at), right = xaxis._offset + xaxis._length;
      veil.hidden = at >= part.end;
      Object.assign(veil.style, {left: `${left}px`, width: `${Math.max(0, right - left)}px`, top: `${yaxis._offset}px`, height: `${yaxis._length}px`});
    };
    const stop = () => { cancelAnimationFrame(part.frame); part.frame = 0; label(); };
    const label = () => { button.textContent = part.frame ? "\u275a\u275a" : "\u25b6"; button.setAttribute("aria-label", part.frame ? "Pause the replay" : "Replay the run"); };
    const play = () => {
      if (part.frame) return stop();
      if (Number(range.value) >= part.end) range.value = 0;
      if (still.matches) { range.value = Math.min(part.end, Number(range.value) + Math.ceil(part.end / 10)); return tell(); }   // a step a press
      let from = Number(range.value), began = null;
      const step = (now) => {
        if (!root.isConnected) return;
        began ??= now;
        range.value = Math.min(part.end, Math.round(from + part.end * (now - began) / (1000 * SECONDS)));
        tell();
        Number(range.value) >= part.end ? stop() : part.frame = requestAnimationFrame(step);
      };
      part.frame = requestAnimationFrame(step);
      label();
    };
    button.addEventListener("click", play);
    range.addEventListener("input", () => { if (part.frame) stop(); tell(); });
    label();

    part.show = (figure) => {
      const before = Number(range.value), ended = before >= part.end;
      part.lines = figure.data.filter(trace => trace.meta?.contestant !== undefined && trace.x?.length);
      part.unit = figure.replay;
      part.end = Math.max(0, ...part.lines.map(({x}) => x[x.length - 1]));
      range.max = part.end;
      range.value = ended ? part.end : Math.min(before, part.end);
      range.setAttribute("aria-label", `${part.unit} so far`);
      tell();
    };
    part.remove = () => { stop(); root.remove(); veil.remove(); };
    return part;
  };

  const parts = new WeakMap();
  evenhand.replay = (node, figure) => {
    const part = parts.get(node);
    if (!figure?.replay) { if (part) { part.remove(); parts.delete(node); } return; }
    if (!part) parts.set(node, build(node));
    parts.get(node).show(figure);
  };
})();

// ---- Downloads: a small menu in the corner of every panel that holds a chart, a matrix or a table. Nothing leaves the browser.
(() => {
  const {evenhand} = window;
  if (evenhand.save) return;
  const SCALES = {b: ["--bias-0", "--bias-1", "--bias-2", "--bias-3", "--bias-4", "--bias-5"], f: ["--second", "--second-mid", "--surface", "--first-mid", "--first"], w: ["--surface", "--win-soft", "--win"], r: ["--loss", "--loss-mid", "--surface", "--win-mid", "--win"]};
  const escaped = (text) => `${text}`.replace(/[&<>${]/g, mark => `&#${mark.charCodeAt(0)};`);   // Plotly reads a little HTML

  // ---- CSV: text that a spreadsheet would take for a formula gets an apostrophe in front
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return `${value}`;
    const text = /^'*[=+\-@\t\r\n|＝＋－＠]/.test(`${value}`) ? `'${value}` : `${value}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = ({columns, rows}) => [columns, ...rows].map(row => row.map(cell).join(",")).join("\r\n") + "\r\n";
  const plain = (text) => `${text ?? ""}`.replace(/<br\s*\/?>/g, ", ").replace(/<[^>]+>/g, "");
  // A figure without a table of its own: its points as they are drawn.
  const points = ({data}) => ({columns: ["series", "x", "y"], rows: data.flatMap((trace, i) => (trace.y ?? []).map((y, k) => [plain(trace.name ?? i + 1), trace.x?.[k] ?? k, y]))});
  const tableOf = (table) => {
    if (table.dataset.table) return JSON.parse(table.dataset.table);
    const texts = (row) => [...row.cells].map(each => [...each.querySelectorAll(".eh-badge, .eh-sw")].reduce((text, part) => text.replace(part.textContent, ""), each.textContent).replace(/\s+/g, " ").trim());
    const heads = [...table.querySelectorAll("thead tr")].map(texts)[0] ?? [];
    const rows = [...table.querySelectorAll("tbody tr")].map(texts), kept = heads.map((_, i) => rows.some(row => row[i]));   // a column of marks has no text
    return {columns: heads.filter((_, i) => kept[i]), rows: rows.map(row => row.filter((_, i) => kept[i]))};
  };
  const heatTable = ({name, keys, cells}) => ({columns: [keys[0], keys[1], "measure", "value", "low", "high", "n", "items"], rows: cells.map(([row, column, value, low, high, n, items]) => [row, column, name, value, low, high, n, items])});

  // ---- a matrix as a heatmap of the same numbers
  const channels = (hex) => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
  const light = (rgb) => { const [r, g, b] = rgb.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const blend = (stops, ink) => {
    const at = ink * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
    return channels(stops[low]).map((v, i) => Math.round(v + (at - low) * (channels(stops[low + 1])[i] - v)));
  };
  const heatmap = (heat, style) => {
    const read = (name) => style.getPropertyValue(name).trim(), stops = SCALES[heat.kind].map(read), ink = read("--ink");
    const {rows, columns, cells} = heat, z = rows.map(() => columns.map(() => null)), notes = [], boxes = [], edge = {color: read("--line"), width: 1};
    for (const [row, column, , , , , , shade, text, below] of cells) {
      const y = rows.indexOf(row), x = columns.indexOf(column), rgb = shade === null ? channels(read("--surface")) : blend(stops, shade);
      z[y][x] = shade;
      boxes.push({type: "rect", x0: x - .48, x1: x + .48, y0: y - .46, y1: y + .46, line: edge});
      const dark = light(rgb) < .179, colour = shade === null ? read("--ink-2") : dark ? "#FFFFFF" : "#000000";
      notes.push({x, y, showarrow: false, text: `<b>${escaped(text)}</b><br><span style="font-size:11px">${escaped(below)}</span>`, font: {size: 16, color: colour}});
    }
    // The legend below: the colours from left to right, and the meaning of their ends, one line each.
    const STEPS = 24, STEP = 7, legend = heat.legend ?? [], low = legend.length ? 30 + 17 * legend.length : 0;
    for (let step = 0; low && step < STEPS; step++) {
      const at = {xref: "paper", yref: "paper", xsizemode: "pixel", ysizemode: "pixel", xanchor: 0, yanchor: 0, x0: STEP * step, x1: STEP * (step + 1), y0: -16, y1: -26};
      boxes.push({type: "rect", ...at, line: {width: 0}, fillcolor: `rgb(${blend(stops, step / (STEPS - 1)).map(Math.round).join(",")})`});
    }
    if (low) notes.push({xref: "paper", yref: "paper", x: 0, y: 0, xanchor: "left", yanchor: "top", yshift: -28, align: "left", showarrow: false, text: legend.map(escaped).join("<br>"), font: {size: 12, color: read("--ink-2")}});
    const longest = Math.max(...rows.map(row => row.length), 4), left = 24 + 8 * longest;
    const axis = {tickfont: {size: 14, color: ink}, showgrid: false, zeroline: false, ticks: "", fixedrange: true, tickangle: 0};
    return {
      data: [{type: "heatmap", z, zmin: 0, zmax: 1, showscale: false, xgap: 3, ygap: 3, hoverinfo: "skip", colorscale: stops.map((colour, i) => [i / (stops.length - 1), colour])}],
      layout: {
        width: Math.max(560, left + 40 + 84 * columns.length), height: 70 + low + 56 * rows.length, margin: {l: left, r: 24, t: 44, b: 24 + low}, annotations: notes, shapes: boxes, plot_bgcolor: "rgba(0,0,0,0)",
        font: {family: read("--sans"), size: 14, color: ink},
        xaxis: {...axis, side: "top", tickvals: columns.map((_, i) => i), ticktext: columns.map(name => name.length > 9 ? escaped(name).replace(/[ _-]/, match => match + "<br>") : escaped(name))},
        yaxis: {...axis, autorange: "reversed", tickvals: rows.map((_, i) => i), ticktext: rows.map(escaped)},
      },
    };
  };

  // ---- pictures: with title, unit and a ground of their own, so that they stand alone
  const HEAD = 62;
  const titled = ({data, layout}, {title, subtitle}, style) => {
    const margin = {l: 48, r: 24, t: 8, b: 44, ...layout.margin}, read = (name) => style.getPropertyValue(name).trim();
    return {data, layout: {
      ...layout, height: layout.height + HEAD, margin: {...margin, t: margin.t + HEAD}, paper_bgcolor: read("--surface"),
      title: {text: `<b>${escaped(title)}</b>`, x: 0, xref: "container", xanchor: "left", y: 1, yref: "container", yanchor: "top", pad: {l: 20, t: 16}, font: {size: 18, color: read("--ink")}, subtitle: {text: escaped(subtitle), font: {size: 13, color: read("--ink-3")}}},
    }};
  };
  const blobOf = async (figure, format) => {
    await evenhand.library();
    const {width, height} = figure.layout, url = await window.Plotly.toImage({...figure, config: {staticPlot: true}}, {format, width, height, scale: format === "png" ? 2 : 1});
    if (format === "svg") return new Blob([decodeURIComponent(url.slice(url.indexOf(",") + 1))], {type: "image/svg+xml"});
    return (await fetch(url)).blob();
  };

  // ---- what a panel holds
  const words = (node, panel) => {
    const box = node.closest(".eh-panel") ?? panel, text = (selector) => box.querySelector(selector)?.textContent.trim() ?? "";
    return {title: text(".eh-head h2") || text("h2") || "Evenhand", subtitle: text(".eh-head p")};
  };
  const visible = (node) => node.getClientRects().length > 0;
  const sources = (panel) => [
    ...[...panel.querySelectorAll(".eh-plot")].filter(node => node.figure && visible(node)).map(node => ({kind: "Chart", node,
      table: () => node.figure.table ?? points(node.figure),
      picture: () => { const {data, layout} = evenhand.coloured(node.figure, getComputedStyle(node)); return {data, layout: {...layout, width: Math.max(node.clientWidth, 720)}}; }})),
    ...[...panel.querySelectorAll(".eh-heat-box[data-heat]")].filter(visible).map(node => { const heat = JSON.parse(node.dataset.heat); return {kind: "Matrix", node, table: () => heatTable(heat), picture: () => heatmap(heat, getComputedStyle(node))}; }),
    ...[...panel.querySelectorAll("table.eh-tbl")].filter(visible).map(node => ({kind: "Table", node, table: () => tableOf(node)})),
  ];
  const fileName = (title, kind, end) => {
    const study = new URL(location.href).searchParams.get("study") ?? "", slug = [study, title].join(" ").toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80);
    return `${slug || kind.toLowerCase()}.${end}`;
  };
  const hand = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const save = async (source, format) => {
    const {title, subtitle} = words(source.node), style = getComputedStyle(source.node);
    const blob = format === "csv" ? new Blob([csv(source.table())], {type: "text/csv;charset=utf-8"}) : await blobOf(titled(source.picture(), {title, subtitle}, style), format);
    hand(blob, fileName(title, source.kind, format));
  };

  // ---- the menu: closed it is one quiet button; what it lists is looked up when it opens
  const fill = (menu, panel) => {
    const found = sources(panel);
    menu.replaceChildren(...found.map(source => {
      const line = document.createElement("div"), label = document.createElement("span");
      label.textContent = source.kind;
      line.append(label, ...(source.picture ? ["png", "svg", "csv"] : ["csv"]).map(format => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = format.toUpperCase();
        button.setAttribute("aria-label", `Save this ${source.kind.toLowerCase()} as ${format.toUpperCase()}`);
        button.addEventListener("click", async () => {
          button.disabled = true;
          try { await save(source, format); } catch (error) { console.error("Evenhand download:", error); button.textContent = "Failed"; }
          button.disabled = false;
        });
        return button;
      }));
      return line;
    }));
  };
  const equip = (panel) => {
    const drawer = document.createElement("details"), summary = document.createElement("summary"), menu = document.createElement("div");
    drawer.className = "eh-save";
    summary.setAttribute("aria-label", `Save ${words(panel, panel).title}`);
    summary.title = "Save as PNG, SVG or CSV";
    menu.className = "list";
    drawer.append(summary, menu);
    drawer.addEventListener("toggle", () => { if (drawer.open) fill(menu, panel); });
    drawer.addEventListener("keydown", (event) => { if (event.key === "Escape" && drawer.open) { drawer.open = false; summary.focus(); event.stopPropagation(); } });
    panel.append(drawer);
  };
  document.addEventListener("click", ({target}) => document.querySelectorAll("details.eh-save[open]").forEach(drawer => { if (!drawer.contains(target)) drawer.open = false; }));

  let waiting = 0;
  const look = () => {
    waiting = 0;
    const panels = new Set([...document.querySelectorAll(".eh-plot, .eh-heat-box[data-heat], table.eh-tbl")].map(node => node.closest(".eh-panel")));
    panels.delete(null);
    panels.forEach(panel => { if (!panel.querySelector(":scope > details.eh-save")) equip(panel); });
  };
  new MutationObserver(() => { waiting ||= setTimeout(look, 300); }).observe(document.body, {childList: true, subtree: true});
  evenhand.save = {csv, heatmap, sources};
})();
// ---- end of replay and downloads

// ---- Vote: keys, one answer at a time on a phone, a name that the browser remembers, a page for voters
(() => {
  const {evenhand} = window;
  if (evenhand.ballot) return;
  const NAME = "evenhand-voter", SENT = 8000, SETTLE = 250, BEGIN = 60000, AGAIN = 1500;   // ms: when a lost answer is given up; when a new ballot takes keys; how long and how often Begin is sent
  const narrow = matchMedia("(max-width: 760px)"), query = new URL(location.href).searchParams;
  evenhand.blind = Boolean(query.get("blind"));
  if (evenhand.blind) document.body.classList.add("eh-blind");
  const voter = () => { try { return localStorage.getItem(NAME) ?? ""; } catch { return kept; } };
  let kept = "", went = query.get("login") ?? "";              // how a login went, until the next act
  const rename = (name) => { kept = name; try { name ? localStorage.setItem(NAME, name) : localStorage.removeItem(NAME); } catch { /* private window: until the page closes */ } };
  // In or out, and back to what is seen now. A Space's frame lets the login's page scroll when told so.
  const logInOrOut = (path) => {
    if (parent !== window) parent.postMessage({type: "SET_SCROLLING", enabled: true}, "*");
    location.assign(`${path}?${new URLSearchParams({_target_url: `/${location.search}`})}`);
  };
  evenhand.voterHere = (opened) => {
    if (opened) setTimeout(() => document.querySelector("#eh-ballot .q")?.focus({preventScroll: true}), 50);
    return JSON.stringify({voter: voter(), blind: evenhand.blind, login: went, tab: opened ? "vote" : new URL(location.href).searchParams.get("tab") ?? ""});
  };

  const typing = (node) => node.isContentEditable || node.matches?.("textarea, select, input:not([type=checkbox])");
  const visible = (node) => node.getClientRects().length > 0;

  evenhand.ballot = (element, trigger, watch) => {
    let sent = 0, came = 0, place = null, side = 0, read = new Set(), levels = [];   // levels: of a rubric, by criterion
    let begun = 0, later = 0;                                   // Begin is sent again until a ballot comes: Gradio may not listen yet
    const root = () => element.querySelector(".eh-vote"), all = (selector) => [...element.querySelectorAll(selector)];
    const send = (act) => {
      if (sent && Date.now() - sent < SENT) return;            // one act at a time: the next ballot is on its way
      const state = root()?.dataset.ballot, comment = element.querySelector("[data-comment]")?.value ?? "";
      const harmful = element.querySelector("[data-harmful]")?.checked ?? false;
      sent = Date.now();
      went = "";
      element.classList.add("sent");
      const rubric = act.act === "vote" && element.querySelector("[data-level]") ? {levels} : {};
      trigger("select", {...act, ...rubric, ballot: state ? JSON.parse(state) : null, comment, harmful, voter: voter()});
    };
    const begin = () => {
      clearTimeout(later);
      if (!begun || !element.isConnected || !element.querySelector("[name=voter]") || Date.now() - begun > BEGIN) { begun = 0; return; }
      sent = 0;
      send({act: "show"});
      later = setTimeout(begin, AGAIN);
    };
    // On a phone the buttons open when every answer has been on screen.
    const show = () => {
      const criteria = all(".criterion").length, next = Array.from({length: criteria}, (_, k) => levels[k]).findIndex(level => level === undefined);
      all("[data-level]").forEach(button => {                    // digits choose a level of the first criterion without one
        const own = Number(button.dataset.criterion);
        button.setAttribute("aria-pressed", String(levels[own] === Number(button.dataset.level)));
        if (own === next && button.dataset.key) button.dataset.vkeys = button.dataset.key; else delete button.dataset.vkeys;
      });
      all(".criterion").forEach((row, k) => row.classList.toggle("next", k === next));
      const boxes = all(".box"), open = criteria ? next < 0 : !narrow.matches || boxes.length < 2 || read.size >= boxes.length;
      boxes.forEach((box, k) => box.classList.toggle("on", k === side));
      all("[data-side]").forEach(button => button.setAttribute("aria-pressed", String(Number(button.dataset.side) === side)));
      all(".choice").forEach(button => { button.disabled = !open; });
      root()?.classList.toggle("wait", !open);
    };
    const settle = () => {
      sent = 0;
      element.classList.remove("sent");
      if (element.querySelector(".said")) begun = 0;            // an answer that says why there is no ballot
      const state = root()?.dataset.ballot ?? "";
      if (state !== place) {                                    // Gradio changes attributes; what a reader typed or scrolled is a property
        place = state; came = Date.now(); side = 0; read = new Set([0]);
        levels = [];
        all("[data-given]").forEach(button => { levels[Number(button.dataset.criterion)] = Number(button.dataset.level); });
        all(".eh-txt").forEach(node => { node.scrollTop = 0; });
        all("[data-comment]").forEach(node => { node.value = node.defaultValue = node.textContent; });
        all("[data-harmful]").forEach(node => { node.checked = node.hasAttribute("checked"); });
        if (visible(element)) { element.querySelector(".q")?.focus({preventScroll: true}); if (element.getBoundingClientRect().top < 0) element.scrollIntoView({block: "start"}); }
      } else if (root()?.dataset.tried && visible(element)) element.querySelector(".said")?.scrollIntoView({block: "nearest"});   // the same one again: why is told above it
      show();
    };
    element.addEventListener("click", (event) => {
      const turn = event.target.closest("[data-side]"), act = event.target.closest("[data-act]"), log = event.target.closest("[data-log]"), level = event.target.closest("[data-level]");
      if (level) { levels[Number(level.dataset.criterion)] = Number(level.dataset.level); show(); }
      if (log) logInOrOut(log.dataset.log);
      if (turn) { side = Number(turn.dataset.side); read.add(side); show(); }
      else if (act && !act.disabled) {
        const asks = JSON.parse(act.dataset.act);
        if (asks.act === "leave") rename("");
        send(asks);
      }
    });
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      rename(event.target.elements.voter.value.trim());
      begun = Date.now();
      begin();
    });
    document.addEventListener("keydown", (event) => {
      if (!element.isConnected || !visible(element) || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event.target)) return;
      const {target, key} = event;
      if (target.matches("[role=tab], [role=radio], [role=slider], [role=listbox], [role=option]")) return;   // these have a use for keys
      if (key === "ArrowDown" && target.matches(".eh-txt") && target.scrollHeight > target.clientHeight) return;   // reading on
      if (key === "Enter" && target.closest("summary, a, button:not([aria-pressed=true])")) return;   // presses what has the focus
      const button = all("[data-vkeys]").find(node => visible(node) && !node.disabled && node.dataset.vkeys.split(" ").includes(key));
      if (!button) return;
      event.preventDefault();
      if (Date.now() - came > SETTLE) button.click();
    });
    element.addEventListener("keydown", ({key, target}) => { if (key === "Escape" && target.matches("[data-comment]")) element.querySelector(".q")?.focus({preventScroll: true}); });
    narrow.addEventListener("change", show);
    watch("value", settle);
    settle();
  };

  evenhand.votersLink = (element, watch) => {
    const fill = () => {
      const here = new URL(location.href), link = new URL(here.origin + here.pathname);
      link.search = new URLSearchParams({study: here.searchParams.get("study") ?? "", tab: "vote", blind: "1"});
      const place = element.querySelector("[data-voters-link]");
      if (place && place.textContent !== link.href) place.textContent = link.href;
    };
    element.addEventListener("click", async ({target}) => {
      const button = target.closest("[data-copy-link]");
      if (!button) return;
      fill();
      try { await navigator.clipboard.writeText(element.querySelector("[data-voters-link]").textContent); button.textContent = "Copied"; } catch { button.textContent = "Copying is not allowed here"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    new IntersectionObserver(fill).observe(element);
    watch("value", fill);
    fill();
  };
})();
// ---- end of Vote

// ---- Help: ? shows keys and words; a tour over the tabs, offered once on Home
(() => {
  const {evenhand} = window, {help} = evenhand;
  if (evenhand.tour || !help.tour) return;
  const STORED = "evenhand-tour", TRIES = 20, PAUSE = 100;      // an anchor may be drawn late: 2 s, then the tab's own button
  const make = (name, values = {}, ...children) => { const node = Object.assign(document.createElement(name), values); node.append(...children); return node; };
  const typing = (node) => node.isContentEditable || node.matches?.("input, textarea, select");
  const visible = (node) => node?.getClientRects().length > 0 && getComputedStyle(node).visibility !== "hidden";
  const tabNamed = (name) => [...document.querySelectorAll("#eh-tabs > .tab-wrapper button[role=tab]")].find(tab => tab.textContent.trim().toLowerCase() === name);
  // A page inside another one, a voter's page and a frozen study have no tour.
  const allowed = () => parent === window && !evenhand.blind && Boolean(tabNamed("home"));
  const seen = () => { try { return localStorage.getItem(STORED); } catch { return null; } };
  const settle = () => { document.body.classList.remove("eh-new"); try { localStorage.setItem(STORED, "seen"); } catch { /* private window: until the page closes */ } };
  if (!seen() && parent === window) document.body.classList.add("eh-new");

  // ---- the overlay: a dialog of the browser, which holds the focus and gives it back
  let dialog = null;
  const keyRow = ([keys, effect]) => make("div", {}, make("dt", {}, ...keys.split(" ").map(key => make("kbd", {textContent: key}))), make("dd", {textContent: effect}));
  const build = () => {
    const search = make("input", {type: "search", placeholder: "Find a word", ariaLabel: "Find a word"});
    const words = help.terms.map(([name, text]) => make("div", {}, make("dt", {textContent: name}), make("dd", {textContent: text})));
    search.addEventListener("input", () => words.forEach(row => { row.hidden = !row.textContent.toLowerCase().includes(search.value.trim().toLowerCase()); }));
    const close = make("button", {type: "button", className: "eh-btn small", textContent: "Close"}), start = make("button", {type: "button", className: "eh-btn small tour", textContent: "Take the 60-second tour"});
    start.dataset.tour = "0";
    close.addEventListener("click", () => dialog.close());
    dialog = make("dialog", {id: "eh-help-box", className: "eh"},
      make("header", {}, make("h2", {id: "eh-help-title", textContent: "Help"}), start, close),
      make("section", {}, make("h3", {textContent: "Keys"}), ...help.keys.flatMap(([tab, rows]) => [make("h4", {textContent: tab}), make("dl", {}, ...rows.map(keyRow))])),
      make("section", {className: "words"}, make("h3", {textContent: "Words"}), search, make("dl", {}, ...words)));
    dialog.setAttribute("aria-labelledby", "eh-help-title");
    dialog.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "?" && !typing(event.target)) { event.preventDefault(); dialog.close(); } });
    dialog.addEventListener("click", ({target}) => { if (target === dialog) dialog.close(); });   // its backdrop
    document.body.append(dialog);
  };
  const openHelp = () => {
    if (!dialog) build();
    end();
    dialog.querySelector(".tour").hidden = !allowed();
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  };

  // ---- the tour: a card beside the element it explains; the page below stays usable
  const ring = make("div", {className: "eh-tour-ring"}), card = make("div", {className: "eh eh-tour"});
  card.setAttribute("role", "dialog");
  card.setAttribute("aria-labelledby", "eh-tour-title");
  let step = -1, anchor = null, from = "home", waiting = 0;
  const place = () => {
    if (step < 0 || !visible(anchor)) { ring.hidden = true; return; }
    const at = anchor.getBoundingClientRect(), own = card.getBoundingClientRect(), bottom = Math.min(at.bottom, innerHeight - 12);
    ring.hidden = false;
    Object.assign(ring.style, {left: `${at.left - 4}px`, top: `${at.top - 4}px`, width: `${at.width + 8}px`, height: `${at.height + 8}px`});
    const top = bottom + own.height + 20 < innerHeight ? bottom + 12 : at.top - own.height - 12 > 8 ? at.top - own.height - 12 : innerHeight - own.height - 16;
    Object.assign(card.style, {left: `${Math.max(12, Math.min(innerWidth - own.width - 12, at.left))}px`, top: `${top}px`});
  };
  const find = (selector, tab, tries = TRIES) => {
    const node = [...document.querySelectorAll(selector)].find(visible);
    anchor = node ?? tabNamed(tab) ?? null;
    place();
    if (!node && tries) waiting = setTimeout(() => find(selector, tab, tries - 1), PAUSE);
    else if (anchor && (anchor.getBoundingClientRect().top < 0 || anchor.getBoundingClientRect().top > innerHeight - 80)) anchor.scrollIntoView({block: "center"});
  };
  const end = () => {
    if (step < 0) return;
    step = -1;
    clearTimeout(waiting);
    card.remove();
    ring.remove();
    settle();
    evenhand.openTab(from);
    document.querySelector("#eh-help")?.focus({preventScroll: true});
  };
  const show = (to) => {
    if (to >= help.tour.length) return end();
    const [tab, selector, title, text] = help.tour[step = Math.max(0, to)], last = step === help.tour.length - 1;
    clearTimeout(waiting);
    if (tab) evenhand.openTab(tab);
    const button = (label, go, kind = "") => { const node = make("button", {type: "button", className: `eh-btn small ${kind}`, textContent: label}); node.addEventListener("click", go); return node; };
    const next = button(last ? "Done" : "Next", () => show(step + 1), "primary");
    card.replaceChildren(
      make("p", {className: "eh-small eh-mute", textContent: `${step + 1} of ${help.tour.length}`}), make("h2", {id: "eh-tour-title", textContent: title}), make("p", {textContent: text}),
      make("div", {className: "eh-row"}, ...(step ? [button("Back", () => show(step - 1))] : []), next, ...(last ? [] : [button("Skip the tour", end)])));
    if (!card.isConnected) document.body.append(ring, card);
    find(selector, tab);
    next.focus({preventScroll: true});
  };
  const start = () => {
    if (!allowed()) return;
    dialog?.close();
    from = tabNamed("home").ariaSelected === "true" ? "home" : document.querySelector("#eh-tabs > .tab-wrapper [role=tab][aria-selected=true]")?.textContent.trim().toLowerCase() ?? "home";
    show(0);
  };
  addEventListener("resize", place);
  document.addEventListener("scroll", place, {capture: true, passive: true});
  document.addEventListener("click", ({target}) => {
    if (target.closest?.("#eh-help")) return openHelp();
    const asked = target.closest?.("[data-tour]");
    if (asked) asked.dataset.tour === "skip" ? settle() : start();
  });
  document.addEventListener("keydown", (event) => {
    const {key, target} = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === "?" && !typing(target) && !dialog?.open) { event.preventDefault(); return openHelp(); }
    if (step < 0 || !(target === document.body || card.contains(target) || key === "Escape")) return;
    const act = {ArrowRight: () => show(step + 1), ArrowLeft: () => show(step - 1), Escape: end}[key];
    if (!act) return;
    event.preventDefault();
    event.stopImmediatePropagation();           // Inspect steps by the same keys
    act();
  }, true);
  evenhand.tour = {start, end, allowed};
})();
// ---- end of Help
