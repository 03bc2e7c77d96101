"use strict";
// What the wall and the page of a host draw alike: the groups, the picture of the game,
// and slides.
const sabm = (() => {
  const AGAIN_MS = 1500, POLL_MS = 35000;
  let marks = new Map();

  // The groups: a tile for each, and one chart of them all.
  function board(state, show) {
    const { groups, label, noun, last, chosen } = state.board;
    const fill = (key, values) => state.texts[key].replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
    const number = (value) => Number(value.toPrecision(4)).toLocaleString(state.language);
    const one = groups.length === 1, solid = (points) => points.filter((point) => point[1] !== null);
    const values = groups.flatMap((group) => solid(group.points).map((point) => point[1]));
    const low = Math.min(0, ...values), high = Math.max(low + 1e-9, ...values, values.length ? low : 1);
    const played = Math.max(1, ...groups.flatMap((group) => group.points.map((point) => point[0])));
    const until = last <= 60 ? Math.max(last, played) : played;
    const rough = (high - low || 1) / 4, ten = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(ten * [1, 2, 5, 10].find((n) => n * ten >= rough), values.every(Number.isInteger) ? 1 : 0), ticks = [];
    for (let i = Math.floor(low / step); values.length && (i - 1) * step < high; i += 1) ticks.push(i * step);
    const [bottom, top] = ticks.length ? [ticks[0], ticks[ticks.length - 1]] : [0, 1];
    const x = (round) => (until > 1 ? 76 + 530 * (round - 1) / (until - 1) : 340);
    const y = (value) => 346 - 326 * (value - bottom) / (top - bottom);
    const colour = (i) => (one ? "var(--sabm-free)" : i === chosen ? "var(--sabm-paid)" : "var(--sabm-soft)");
    const line = (points, fx, fy) => solid(points).map(([round, value]) => `${fx(round)},${fy(value)}`).join(" ");
    const rounds = [];
    for (let round = 1; round <= until; round += Math.ceil(until / 12)) rounds.push(round);
    const tile = (group, i) => h("li", {}, h(show ? "button" : "div", {
      class: `sabm-board-tile sabm-board-${group.state}${i === chosen ? " sabm-board-chosen" : ""}`, "data-key": `group ${i}`,
      type: show && "button", "aria-pressed": show && String(i === chosen), onclick: () => show && show({ group: i }) },
      h("span", { class: "sabm-board-name" }, h("strong", {}, group.name), " ", h("span", {}, group.words)),
      s("svg", { viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" }, s("polyline", {
        points: line(group.points, (round) => 3 + 94 * (until > 1 ? (round - 1) / (until - 1) : .5), (value) => 22 - 20 * (value - low) / (high - low)),
        fill: "none", stroke: i === chosen ? "var(--sabm-paid)" : "var(--sabm-free)", "stroke-width": 2, "vector-effect": "non-scaling-stroke" }))));
    const spoken = groups.map((group) => {
      const end = solid(group.points).slice(-1)[0];
      return end ? fill("value_in", { group: group.name, value: number(end[1]), noun, round: end[0] }) : fill("no_value", { group: group.name });
    }).join("; ");
    const order = [...groups.keys()].sort((a, b) => (a === chosen) - (b === chosen));
    const shown = groups[chosen] || groups[0];
    return h("div", { class: `sabm-board${one ? " sabm-board-one" : groups.length < 7 ? " sabm-board-few" : ""}` },
      !one && h("ul", { class: "sabm-board-tiles" }, groups.map(tile)),
      h("figure", { class: "sabm-board-chart" },
        h("figcaption", {}, one ? label : fill("of_each", { label, group: shown.name })),
        s("svg", { viewBox: "0 0 640 400", role: "img", "aria-label": fill("chart", { label, values: spoken }), "font-size": 17, fill: "currentColor" },
          ticks.map((tick) => s("g", {}, s("path", { d: `M52 ${y(tick)}H628`, stroke: "var(--sabm-line)" }),
            s("text", { x: 46, y: y(tick) + 5, "text-anchor": "end", fill: "var(--sabm-soft)" }, number(tick)))),
          rounds.map((round) => s("text", { x: x(round), y: 372, "text-anchor": "middle", fill: "var(--sabm-soft)" }, round)),
          s("text", { class: "sabm-board-noun", x: 628, y: 394, "text-anchor": "end" }, noun),
          order.map((i) => s("g", { opacity: one || i === chosen ? 1 : .55, fill: colour(i) },
            s("polyline", { points: line(groups[i].points, x, y), fill: "none", stroke: colour(i), "stroke-width": i === chosen ? 4 : 2, "stroke-linejoin": "round" }),
            solid(groups[i].points).map(([round, value]) => s("circle", { cx: x(round), cy: y(value), r: i === chosen ? 5 : 2.5 })))),
          !values.length && s("text", { x: 340, y: 180, "text-anchor": "middle", fill: "var(--sabm-soft)" }, state.texts.nothing_over))));
  }

  // The picture of the game; marks glide to their new places.
  const shade = (colour) => ({ "#4D4D4D": "var(--wall)", "#000000": "var(--sabm-text)", "#8C8C8C": "var(--sabm-soft)", "#D5DAE0": "var(--sabm-line)" })[colour] || colour;
  const SHAPES = { s: "M-.5-.5H.5V.5H-.5Z", "^": "M0-.57L.55 .5H-.55Z", D: "M0-.6L.6 0L0 .6L-.6 0Z" };
  const shape = (kind) => SHAPES[kind] || "M-.5 0A.5 .5 0 1 1 .5 0A.5 .5 0 1 1-.5 0Z";
  function world(scene) {
    const [left, bottom, wide, high] = scene.extent, floor = scene.floor;
    const X = (x) => x - left, Y = (y) => (scene.down ? y - bottom : high - (y - bottom));
    const before = marks, here = new Map();
    const groups = scene.marks.map(([id, x, y, colour, kind, size, letters]) => {
      const to = `translate(${X(x)}px, ${Y(y)}px)`, from = before.get(id) || to;
      here.set(id, to);
      const light = parseInt(colour.slice(1, 3), 16) * .3 + parseInt(colour.slice(3, 5), 16) * .59 + parseInt(colour.slice(5, 7), 16) * .11 > 140;
      const mark = s("g", { class: "mark" }, s("path", { d: shape(kind), fill: shade(colour), transform: `scale(${size})`, "vector-effect": "non-scaling-stroke" }),
        letters && s("text", { "text-anchor": "middle", "dominant-baseline": "central", "font-size": .5 * size, "font-weight": 600, stroke: "none", fill: light ? "#000" : "#fff" }, letters));
      mark.style.transform = from;
      return [mark, to];
    });
    marks = here;
    const drawing = s("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${scene.title}. ${scene.words}`, "data-marks": scene.marks.length },
      floor && s("rect", { x: X(floor[0]), y: scene.down ? Y(floor[1]) : Y(floor[1] + floor[3]), width: floor[2], height: floor[3], fill: "var(--floor)" }),
      scene.ground.map(([x, y, colour]) => s("rect", { x: X(x) - .5, y: Y(y) - .5, width: 1.02, height: 1.02, fill: shade(colour) })),
      scene.ties.map(([x1, y1, x2, y2, width]) => s("line", { x1: X(x1), y1: Y(y1), x2: X(x2), y2: Y(y2), stroke: "var(--sabm-soft)", "stroke-width": width, "vector-effect": "non-scaling-stroke" })),
      groups.map(([mark]) => mark),
      scene.labels.map(([x, y, words, anchor]) => s("text", { x: X(x), y: Y(y), "text-anchor": anchor, "dominant-baseline": "central", "font-size": high / 16, fill: "currentColor" }, words)));
    requestAnimationFrame(() => requestAnimationFrame(() => { for (const [mark, to] of groups) mark.style.transform = to; }));
    return h("figure", { class: "sabm-world" }, h("figcaption", {}, scene.title), drawing,
      h("ul", { class: "sabm-legend" }, scene.legend.map(([label, colour, kind]) => h("li", {},
        s("svg", { viewBox: "-.7 -.7 1.4 1.4", "aria-hidden": "true" }, s("path", { d: shape(kind), fill: shade(colour) })), label))));
  }

  // The results, slide by slide.
  function slide({ named, title, words, drawing }) {
    const drawn = drawing && h("div", { class: "sabm-drawing" });
    if (drawn) drawn.innerHTML = drawing;  // made by the server, which escapes all texts in it
    return h("section", { class: "sabm-slide", tabindex: 0, "aria-label": named }, h("h1", {}, title), h("div", {}, words.map((line) => h("p", {}, line))), drawn);
  }
  function slideControls(state, show) {
    const at = state.slide ? state.slide.at : 0, of = state.slides, texts = state.texts;
    if (!at) return h("button", { type: "button", class: "sabm-slide-button sabm-slide-next", "data-key": "present", onclick: () => show({ slide: 1 }) }, texts.present);
    return h("div", { class: "sabm-bar", role: "group", "aria-label": texts.slides },
      h("button", { type: "button", class: "sabm-slide-button", "data-key": "back", onclick: () => show({ slide: at - 1 }) }, texts.back),
      h("span", {}, texts.slide_of.replace("{at}", at).replace("{of}", of)),
      h("button", { type: "button", class: "sabm-slide-button sabm-slide-next", "data-key": "next", disabled: at >= of, onclick: () => show({ slide: at + 1 }) }, texts.next));
  }

  // Asks for the state again and again; each answer comes when something has changed. The function
  // that it returns asks at once, of another address.
  function follow(address, version, onState) {
    let asking = new AbortController();
    poll(address, version, onState, () => (asking = new AbortController()));
    return () => asking.abort();
  }
  async function poll(address, version, onState, renewed) {
    const again = () => new Promise((done) => setTimeout(done, AGAIN_MS));
    for (;;) {
      const asked = address(), url = new URL(asked, location.href), asking = renewed();
      const late = setTimeout(() => asking.abort(), POLL_MS);
      try {
        url.searchParams.set("after", version());
        const answer = await fetch(url, { signal: asking.signal });
        if (answer.status === 403) { location.reload(); return; }
        const state = await answer.json();
        if (asked === address() && onState(state)) await again();
      } catch {
        if (asked === address()) await again();
      } finally {
        clearTimeout(late);
      }
    }
  }

  // Where players reach this server: not by the name of its own computer.
  function reached(network) {
    const own = /^(localhost|127\..*|\[::1\])$/.test(location.hostname);
    return { local: own && !network, origin: own && network ? network : location.origin };
  }

  return { board, world, slide, slideControls, follow, reached };
})();
