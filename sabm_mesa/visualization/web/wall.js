"use strict";
(() => {
  const main = document.querySelector("main"), { base } = main.dataset;
  const { board, world, slide, slideControls, follow } = sabm;
  let state = null, end = null;

  function show(change) {
    const query = location.search ? location.search : "";
    fetch(`${base}/show${query}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(change) });
  }

  // How to join, and who is ready.
  function joining() {
    const { code, status, asked, answered } = state, small = status !== "open";
    const { local: alone, origin } = sabm.reached(state.address), where = `${origin.replace("http://", "")}/join`;
    const share = asked ? 100 * answered / asked : 0;
    return h("div", { class: `sabm-wall${small ? " sabm-wall-small" : ""}` },
      status !== "over" && h("div", { class: "sabm-wall-join" },
        h("div", {},
          h("p", { class: "sabm-wall-where" }, where),
          h("p", { class: "sabm-wall-code" }, code),
          !small && h("ol", { class: "sabm-wall-steps" }, state.steps.map((step) => h("li", {}, step)))),
        !alone && h("img", { src: `/join/${code}/qr.svg`, alt: state.texts.qr })),
      alone && status !== "over" && h("p", { class: "sabm-problem", role: "alert" }, state.texts.alone, " ", h("code", {}, "sabm view --host 0.0.0.0")),
      h("div", { class: "sabm-wall-now", role: "status" },
        asked > 0 && s("svg", { viewBox: "0 0 120 120", "aria-hidden": "true" },
          s("circle", { cx: 60, cy: 60, r: 48, fill: "none", stroke: "var(--sabm-line)", "stroke-width": 16 }),
          s("circle", { cx: 60, cy: 60, r: 48, fill: "none", stroke: "var(--sabm-free)", "stroke-width": 16, pathLength: 100, "stroke-dasharray": `${share} 100`, transform: "rotate(-90 60 60)" }),
          s("text", { x: 60, y: 70, "text-anchor": "middle", fill: "currentColor", "font-size": 28, "font-weight": 700 }, answered)),
        h("p", { class: "sabm-wall-words" }, state.words),
        state.left !== null && h("p", { class: "sabm-wall-words sabm-wall-clock", "aria-hidden": "true" }),
        !small && state.names.length > 0 && h("ul", { class: "sabm-wall-names" }, state.names.map((name) => h("li", {}, name)))));
  }

  addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    if (!by || !state || !state.slide || !state.of_host || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (state.slide.at + by > state.slides) return;
    event.preventDefault();
    show({ slide: state.slide.at + by });
  });

  function parts() {
    if (state.status === "none") return [h("h1", {}, state.texts.no_game), h("p", {}, state.texts.no_game_why)];
    const foot = state.status === "over" && state.of_host && slideControls(state, show);
    if (state.slide) return [slide(state.slide), foot];
    const shown = [h("h1", {}, state.title), joining()];
    if (state.status === "open") return shown;
    const scenes = state.scenes.map(world);
    const played = state.board && state.board.groups.some((group) => group.points.length);
    const beside = played ? board(state, state.of_host && show) : h("p", { class: "sabm-wall-rule" }, state.rule);
    return [...shown, h("div", { class: `sabm-screen-board${scenes.length ? " sabm-screen-world" : ""}` }, scenes, beside), foot];
  }
  function draw() {
    const focused = document.activeElement && document.activeElement.dataset.key;
    document.documentElement.lang = state.language;
    document.title = `${state.texts.title} · sabm`;
    end = state.left === undefined || state.left === null ? null : performance.now() + 1000 * state.left;
    main.replaceChildren(...parts().filter(Boolean));
    tick();
    const again = focused && main.querySelector(`[data-key="${focused}"]`);
    if (again) again.focus();
  }
  function tick() {
    const clock = main.querySelector(".sabm-wall-clock");
    if (!clock || end === null) return;
    const seconds = Math.max(0, Math.ceil((end - performance.now()) / 1000));
    clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
  setInterval(tick, 500);

  const address = () => `${base}/state${location.search}`;
  follow(address, () => (state ? state.version : ""), (new_) => {
    const same = state && new_.version === state.version;
    state = new_;
    if (!same) draw();
    return state.status === "none";
  });
})();
