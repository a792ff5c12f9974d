// Runs before Gradio's script reads its configuration: first values of components, and less work for Gradio.
(() => {
  const config = window.gradio_config, values = JSON.parse(document.querySelector("#eh-first").textContent);
  if (!config?.components || !config.dependencies) return;   // a page with a log-in, or another Gradio
  for (const {props} of config.components) if (props.elem_id in values) props.value = values[props.elem_id];
  // The tab of the address is built first, not Home before it; the header of Home shows no study.
  const address = new URL(location.href).searchParams, tab = address.get("tab") || (address.has("study") ? "results" : "home");
  const tabs = config.components.find(({props}) => props.elem_id === "eh-tabs")?.props ?? {};
  if (tab === "results" && !address.has("blind")) tabs.selected = tab;
  // Gradio asks for the theme late, and waits for it.
  const theme = document.createElement("link"), root = new URL(config.root || ".", location.href);
  Object.assign(theme, {rel: "stylesheet", href: `${location.origin}${root.pathname.replace(/\/$/, "")}/theme.css?v=${config.theme_hash}`});
  document.head.append(theme);
  // Gradio searches all components for each target of an event, several times. The target of an event after another
  // event is that event, which is no component.
  for (const one of config.dependencies) one.targets = one.targets.filter(([, name]) => !["then", "success", "failure"].includes(name));
  document.body.classList.toggle("eh-at-home", tab === tabs.selected && tab === "home" && !address.has("blind"));
  // Gradio wraps each plain object of its configuration in a proxy, and reads all events for each component.
  // Objects of a class stay as they are: opening the page then takes a tenth less time.
  class Fixed {}
  class FixedList extends Array {}
  for (const list of [config.components, config.dependencies]) {
    list.forEach(one => Object.setPrototypeOf(one, Fixed.prototype));
    Object.setPrototypeOf(list, FixedList.prototype);
  }
})();
