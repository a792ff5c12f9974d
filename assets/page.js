// What the page does by itself: the theme, plots, clicks inside gr.HTML, hover cards. Sent once, in the head.
(() => {
  if (window.evenhand) return;
  const STORED = "evenhand-theme", VARIABLE = /var\((--[\w-]+)\)/g, FADED = /^alpha\(var\((--[\w-]+)\), ?([\d.]+)\)$/;

  // ---- theme: the address wins, then what this reader chose before, then the system (Gradio sees to that one)
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
  let loading = null;
  const library = (path) => window.Plotly ? Promise.resolve() : loading ||= new Promise((done, failed) => {
    const script = document.createElement("script");
    // Relative to the base, as Gradio's own files: works behind a proxy that adds a prefix.
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
      if (part && typeof part === "object") return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, key === "customdata" || key === "meta" ? value : walk(value)]));
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
    let frame = 0, busy = false, again = false, bound = false, last = "";
    const clear = () => { if (node.data) window.Plotly.purge(node); node.replaceChildren(); node.removeAttribute("aria-label"); bound = false; last = ""; };
    const draw = async () => {
      const figure = props.value;
      if (!figure || !figure.data) return clear();
      const width = node.clientWidth;
      if (!width) return;                       // in a hidden tab: the ResizeObserver calls again
      const dark = document.body.classList.contains("dark"), state = JSON.stringify([width, dark, figure]);
      if (state === last) return;
      await library(path);
      const {data, layout, config = {}, narrow, summary = ""} = coloured(figure, getComputedStyle(node));
      if (width < 480) override(layout, narrow);
      node.style.height = `${layout.height}px`;
      node.setAttribute("aria-label", summary);
      if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;   // a finger scrolls the page
      await window.Plotly.react(node, data, {...layout, width, autosize: false}, {displayModeBar: false, showTips: false, ...config});
      last = state;
      if (bound) return;
      bound = true;
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

  // ---- clicks inside gr.HTML: [data-select='{"judge": "x"}'] reaches Python's .select() as EventData._data
  const clicks = (element, trigger, watch) => {
    element.addEventListener("click", (event) => {
      const target = event.target.closest("[data-select]");
      if (!target || !element.contains(target) || target.disabled) return;
      event.preventDefault();
      trigger("select", JSON.parse(target.dataset.select));
    });
    // Gradio writes the new HTML over the old attribute by attribute: what the reader unfolded would close.
    const open = new Set(), name = (details) => details.dataset.keep || details.querySelector("summary")?.textContent;
    element.addEventListener("toggle", ({target}) => { if (target.matches("details")) open[target.open ? "add" : "delete"](name(target)); }, true);
    watch("value", () => element.querySelectorAll("details").forEach(details => { if (open.has(name(details))) details.open = true; }));
  };

  // ---- hover cards: lines of data-tip as text, never as HTML
  const tip = document.createElement("div");
  tip.className = "eh-tip";
  tip.setAttribute("role", "tooltip");
  let shown = null;
  const hide = () => { shown = null; tip.classList.remove("on"); };
  const show = (target) => {
    if (!target) return hide();
    if (target === shown) return;
    shown = target;
    tip.replaceChildren(...target.dataset.tip.split("\n").map(line => { const row = document.createElement("div"); row.textContent = line; return row; }));
    if (!tip.isConnected) document.body.append(tip);
    const at = target.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(innerWidth - own.width - 8, at.left + at.width / 2 - own.width / 2));
    const top = at.top - own.height - 8 > 8 ? at.top - own.height - 8 : at.bottom + 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${top}px`;
    tip.classList.add("on");
  };
  const over = (event) => show(event.target.closest?.("[data-tip]"));
  document.addEventListener("pointerover", over);
  document.addEventListener("focusin", over);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, {capture: true, passive: true});
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("click", (event) => { hide(); if (event.target.closest("#eh-theme")) toggleTheme(); });

  // ---- the address carries the view: a link shows exactly what is seen. Study and tab always; of the
  // rest, what belongs to the tab in view: Results and Inspect both have a judge, and mean it differently.
  const scopes = {}, ALWAYS = ["study", "tab", "__theme"];
  const write = (url) => {
    for (const name of [...url.searchParams.keys()]) if (!ALWAYS.includes(name)) url.searchParams.delete(name);
    for (const [name, value] of Object.entries(scopes[url.searchParams.get("tab")] ?? {})) if (value) url.searchParams.set(name, value);
    history.replaceState(history.state, "", url);
  };
  const remember = (values) => {
    const url = new URL(location.href);
    for (const [name, value] of Object.entries(values)) value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
    write(url);
  };
  // What a tab shows: `names` with their `values`; what is as it starts is not written.
  const scope = (tab, names, starts, values) => {
    const text = (value) => Array.isArray(value) ? value.join(",") : `${value ?? ""}`;
    scopes[tab] = Object.fromEntries(names.map((name, i) => [name, text(values[i]) === text(starts[i]) ? "" : text(values[i])]));
    write(new URL(location.href));
  };
  const copyLink = async () => {
    const url = new URL(location.href);
    url.searchParams.delete("__theme");
    try { await navigator.clipboard.writeText(url.href); } catch { window.prompt("Copy this link", url.href); return; }
    const button = document.querySelector("#eh-share");
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  };
  document.addEventListener("click", (event) => {
    const tab = event.target.closest("#eh-tabs > .tab-wrapper button[role=tab]");
    if (tab) remember({tab: tab.textContent.trim().toLowerCase()});
  });

  window.evenhand = {plot, clicks, toggleTheme, remember, scope, copyLink};
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
  evenhand.follow = (element, watch) => {
    let last = null;
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
      const address = element.querySelector("[data-address]");
      if (address) { const said = JSON.parse(address.dataset.address); evenhand.scope("inspect", Object.keys(said), [], Object.values(said)); }
    });
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
