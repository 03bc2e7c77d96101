"use strict";
(() => {
  const app = document.getElementById("app");
  const { base, token } = app.dataset;
  const STORED = ":solara:theme.variant";
  const SVG = "http://www.w3.org/2000/svg";
  const POLL_AGAIN_MS = 1500, POST_MS = 8000, POLL_MS = 35000;

  // Texts in the language of the page; every request says which one it is.
  const language = document.documentElement.lang;
  const texts = JSON.parse(document.getElementById("texts").textContent);
  const plural = new Intl.PluralRules(language);
  function t(key, values = {}) {
    const known = texts[key], text = known.one ? known[plural.select(values.n) === "one" ? "one" : "many"] : known;
    return text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
  }

  // Elements. A text is always a text, and never taken for markup.
  function make(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== false));
    return element;
  }
  const h = (tag, attributes, ...children) => make(document.createElement(tag), attributes, children);
  const s = (tag, attributes, ...children) => make(document.createElementNS(SVG, tag), attributes, children);
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

  // The theme: as the system wants it, until somebody chooses.
  function theme(dark) {
    document.documentElement.className = dark ? "theme--dark" : "theme--light";
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
  }
  const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private page */ } };
  const drop = (name) => { try { localStorage.removeItem(name); } catch { /* private page */ } };
  const isDark = () => document.documentElement.className === "theme--dark";
  const chosen = kept(STORED);
  theme(chosen ? chosen.includes("dark") : matchMedia("(prefers-color-scheme: dark)").matches);
  document.getElementById("language").addEventListener("change", (event) => {
    const address = new URL(location.href);
    address.searchParams.set("lang", event.target.value);
    location.replace(address);
  });
  document.getElementById("theme").addEventListener("click", () => {
    theme(!isDark());
    keep(STORED, JSON.stringify(isDark() ? "dark" : "light"));
  });

  // A connection may be dead without a word: what gets no response in time has failed.
  const within = (ms) => (AbortSignal.timeout ? AbortSignal.timeout(ms) : undefined);
  async function post(path, content) {
    const answer = await fetch(`${base}${path}?lang=${language}`, {
      method: "POST", cache: "no-store", body: JSON.stringify(content), signal: within(POST_MS),
      headers: { "Content-Type": "application/json" },
    });
    return answer.json();
  }
  // Once more by itself: a question takes one answer, and a message has an id.
  async function postAgain(path, content) {
    try { return await post(path, content); } catch { await sleep(POLL_AGAIN_MS); return post(path, content); }
  }

  // Joining. Whoever had the seat already reads so on its page.
  const AGAIN = "#again";
  function join() {
    const code = h("input", {
      name: "code", maxlength: 6, autocomplete: "off", autocapitalize: "characters", spellcheck: "false",
      value: app.dataset.code, required: true, "aria-label": t("code_label"),
    });
    const word = h("input", { name: "word", autocomplete: "off", autocapitalize: "none", spellcheck: "false",
      "aria-label": t("word") });
    const problem = h("p", { class: "sabm-refusal", role: "alert", hidden: true });
    async function send(event, given) {
      event.preventDefault();
      problem.hidden = true;
      let answer;
      try { answer = await post("/join", given); } catch { answer = { problem: t("no_answer") }; }
      if (answer.path) location.assign(base + answer.path + location.search + (answer.again ? AGAIN : ""));
      else { problem.textContent = answer.problem; problem.hidden = false; }
    }
    const seat = h("form", { class: "sabm-card game-code", onsubmit: (event) => send(event, { code: code.value }) },
      h("h1", {}, t("join")), h("label", { class: "sabm-field" }, t("code"), code),
      h("button", { type: "submit" }, t("take")));
    const back = h("form", { onsubmit: (event) => send(event, { code: code.value, word: word.value }) },
      h("p", {}, t("other_device")),
      h("label", { class: "sabm-field" }, t("word"), word),
      h("button", { type: "submit", class: "second" }, t("back")));
    app.replaceChildren(h("div", { class: "game-join" }, seat, problem,
      h("details", { class: "sabm-card" }, h("summary", {}, t("had_seat")), back)));
    (app.dataset.code ? seat.querySelector("button") : code).focus();
  }

  // Boards: each is beside the inputs of the form, which stay, and sets them. A board returns its
  // elements, and what is to be done when the input has changed. It is as wide as the page, so that
  // its words are as large as those around it.
  const width = () => Math.max(250, Math.min(680, app.clientWidth - 66));
  const BOARDS = {
    line(board, field) {
      const wide = width(), low = board.low, span = board.high - board.low || 1;
      const at = (value) => 10 + (wide - 20) * Math.min(1, Math.max(0, (value - low) / span));
      const pin = s("path", { d: "M0 0l-9-16h18z", fill: "#0072b2", visibility: "hidden" });
      const said = s("text", { y: 14, "text-anchor": "middle", "font-weight": "700" });
      // Labels stand on the side on which no line of another mark crosses them.
      const known = [...(board.marks || [])].sort((a, b) => b.at - a.at), ends = known.length > 0 && at(known[0].at) > wide * .6;
      if (ends) known.reverse();
      const marks = known.map((mark, i) => s("g", { transform: `translate(${at(mark.at)} 0)` },
        s("path", { d: `M0 34v${46 + 18 * i}`, stroke: "currentColor", "stroke-width": 2 }),
        s("text", { x: ends ? -6 : 6, y: 80 + 18 * i, "text-anchor": ends ? "end" : "start" }, `${mark.label} ${round(mark.at)}`)));
      const svg = s("svg", { viewBox: `0 0 ${wide} ${known.length ? 70 + 18 * known.length : 66}`, role: "img",
        "aria-label": told(known, low, board.high) },
        s("path", { d: `M10 40h${wide - 20}`, stroke: "currentColor", "stroke-width": 3, "stroke-linecap": "round" }),
        s("text", { x: 10, y: 60, class: "soft" }, round(low)),
        s("text", { x: wide - 10, y: 60, class: "soft", "text-anchor": "end" }, round(board.high)), marks, pin, said);
      const slide = slider(board, field, false);
      return [[svg, slide.element], (value) => {
        slide.follow(value);
        pin.setAttribute("visibility", value === "" ? "hidden" : "visible");
        pin.setAttribute("transform", `translate(${at(Number(value))} 36)`);
        said.setAttribute("x", Math.min(wide - 24, Math.max(24, at(Number(value)))));
        said.textContent = value;
      }];
    },
    prices(board, field) {
      const wide = width(), beside = Math.max(1, Math.floor(wide / 145));
      const tag = (name, price, own) => {
        const text = s("text", { x: 70, y: 52, "text-anchor": "middle", style: "font-size:22px;font-weight:700" }, price);
        return [s("g", {}, s("path", { d: "M8 40L30 18h100v52H30z", fill: own ? "#0072b233" : "none",
          stroke: own ? "#0072b2" : "currentColor", "stroke-width": 2 }), s("circle", { cx: 26, cy: 44, r: 4, fill: "currentColor" }),
          text, s("text", { x: 70, y: 90, "text-anchor": "middle", class: "soft" }, name)), text];
      };
      const [own, price] = tag(t("you_now"), "?", true);
      const others = board.tags.map((each) => tag(t("last", { name: each.name }), each.at === null ? "–" : round(each.at))[0]);
      const all = [own, ...others];
      all.forEach((each, i) => each.setAttribute("transform", `translate(${(i % beside) * 145} ${Math.floor(i / beside) * 100})`));
      const svg = s("svg", { viewBox: `0 0 ${wide} ${Math.ceil(all.length / beside) * 100}`, role: "img", "aria-label":
        t("last_prices", { prices: board.tags.map((one) => `${one.name} ${one.at === null ? t("none_yet") : round(one.at)}`).join(", ") }) }, all);
      const slide = slider(board, field);
      return [[svg, slide.element], (value) => { slide.follow(value); price.textContent = value === "" ? "?" : value; }];
    },
    lake(board, field) {
      const wide = width(), height = (units) => 130 * Math.max(0, units) / board.capacity;
      const words = h("figcaption", {}), surface = 150 - height(board.stock);
      const level = s("rect", { x: 2, y: surface, width: wide - 4, height: height(board.stock), rx: 12, fill: "#0072b2", opacity: .35 });
      const taken = s("rect", { x: 2, y: surface, width: wide - 4, fill: "#d55e00", opacity: .6 });
      const svg = s("svg", { viewBox: `0 0 ${wide} 156`, role: "img", "aria-label": t("stock", board) },
        s("path", { d: `M2 16v122q0 14 14 14h${wide - 32}q14 0 14-14V16`, fill: "none", stroke: "currentColor", "stroke-width": 3 }), level, taken);
      const slide = slider({ low: 0, high: board.stock, step: 1 }, field);
      return [[svg, words, slide.element], (value) => {
        slide.follow(value);
        const units = Math.min(board.stock, Math.max(0, Number(value) || 0));
        taken.setAttribute("height", height(units));
        words.textContent = value === "" ? t("there_are", board)
          : t("you_take", { ...board, units, left: board.stock - units });
      }];
    },
    pot(board, field) {
      const wide = width(), side = wide * .36, left = side / 2 + 2, right = wide - left;
      const amount = (x) => s("text", { x, y: 74, "text-anchor": "middle", style: "font-size:26px;font-weight:700" });
      const hand = amount(left), pot = amount(right);
      const word = (x, text) => s("text", { x, y: 130, "text-anchor": "middle", class: "soft" }, text);
      const svg = s("svg", { viewBox: `0 0 ${wide} 136`, role: "img",
        "aria-label": t("you_have", board) },
        s("rect", { x: 2, y: 30, width: side, height: 76, rx: 14, fill: "none", stroke: "currentColor", "stroke-width": 2 }),
        s("path", { d: `M${wide - side - 2} 30h${side}l-16 76H${wide - side + 14}z`, fill: "#0072b233", stroke: "#0072b2", "stroke-width": 2 }),
        s("path", { d: `M${wide / 2 - 24} 68h46m-12-10 12 10-12 10`, fill: "none", stroke: "currentColor", "stroke-width": 3 }),
        hand, pot, word(left, t("you_keep")), word(right, t("in_the_pot", { multiplier: round(board.multiplier) })));
      const slide = slider({ low: 0, high: board.endowment, step: board.step || "any" }, field);
      return [[svg, slide.element], (value) => {
        slide.follow(value);
        const given = Math.min(board.endowment, Math.max(0, Number(value) || 0));
        hand.textContent = value === "" ? round(board.endowment) : round(board.endowment - given);
        pot.textContent = value === "" ? "?" : round(given);
      }];
    },
    map(board, field) {
      // A cell is large enough for a finger, so a phone shows the neighbourhood of a large room.
      const least = 36, odd = (n) => (n % 2 ? n : n - 1);
      const whole = board.whole, wide = whole ? board.width : Math.min(board.width, odd(Math.floor(width() / least))), high = whole ? board.height : Math.min(board.height, Math.max(7, odd(Math.round(wide * .7))));
      const from = (at, most, n) => Math.max(0, Math.min(most - n, at - Math.floor(n / 2)));
      const left = from(board.me[0], board.width, wide), top = from(board.me[1], board.height, high), cells = [];
      const inside = ([x, y]) => x >= left && x < left + wide && y >= top && y < top + high;
      const square = ([x, y], extra) => s("rect", { x, y, width: 1, height: 1, ...extra });
      const dot = ([x, y], extra) => s("circle", { cx: x + .5, cy: y + .5, ...extra });
      const to = board.target;
      const svg = s("svg", { viewBox: `${left} ${top} ${wide} ${high}`, style: `max-width:${wide * (whole ? 30 : 48)}px;overflow:hidden`, role: "img",
        "aria-label": t(whole ? "map_whole" : "map") },
        board.walls.filter(inside).map((cell) => square(cell, { fill: "currentColor", opacity: .75 })),
        board.exits.filter(inside).map((cell) => square(cell, { fill: "#009e73" })),
        board.people.filter(inside).map((cell) => dot(cell, { r: .32, fill: "var(--sabm-soft)" })),
        board.options.map((each) => {
          const [x, y] = each.at;
          const cell = s("g", { class: "cell", onclick: () => field.set(each.option) }, square(each.at, { "stroke-width": .05 }),
            whole ? exitName(board, each) : s("text", { x: x + .5, y: y + .68, "text-anchor": "middle", style: "font-size:.5px" }, each.option));
          cells.push([each.option, cell]);
          return cell;
        }),
        dot(board.me, { r: .44, fill: "none", stroke: "#d55e00", "stroke-width": .1, "pointer-events": "none" }),
        to && !inside(to) ? pointer(to, left, top, wide, high) : null);
      return [[svg], (value) => cells.forEach(([option, cell]) => cell.classList.toggle("chosen", option === value))];
    },
    matrix(board, field) {
      const rows = board.rows.map((name, i) => h("tr", { class: "choice", onclick: () => field.set(name) },
        h("th", { scope: "row" }, name), board.cells[i].map(([own, other]) => h("td", {}, h("b", {}, round(own)), ` / ${round(other)}`))));
      const table = h("table", { class: "matrix" }, h("caption", {}, t("payoffs")),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("you_and_other")), board.columns.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows));
      return [[h("div", { class: "sabm-table" }, table)], (value) => rows.forEach((row, i) => row.classList.toggle("chosen", board.rows[i] === value))];
    },
  };
  function exitName(board, { at: [x, y], option }) {
    // Beside the exit, inside the room.
    const anchor = x === 0 ? "start" : x === board.width - 1 ? "end" : "middle";
    const dx = { start: 1.3, end: -.3, middle: .5 }[anchor], dy = y === 0 ? 1.9 : y === board.height - 1 ? -.4 : .8;
    return s("text", { x: x + dx, y: y + dy, "text-anchor": anchor, style: "font-size:1px;font-weight:700" }, option);
  }
  function pointer([x, y], left, top, wide, high) {
    // An arrow at the edge of the map, towards what lies beyond it.
    const clamp = (value, low, most) => Math.max(low + .5, Math.min(low + most - .5, value + .5));
    const px = clamp(x, left, wide), py = clamp(y, top, high);
    const angle = Math.atan2(y + .5 - top - high / 2, x + .5 - left - wide / 2) * 180 / Math.PI;
    return s("path", { d: "M.45 0L-.25-.4v.8z", fill: "#009e73", transform: `translate(${px} ${py}) rotate(${angle})` });
  }
  function slider(board, field, ends = true) {
    const input = h("input", { type: "range", min: board.low, max: board.high, "aria-label": t("slider"),
      step: board.step && board.step !== "any" ? board.step : nice(board.high - board.low), tabindex: -1,
      oninput: () => field.set(input.value) });
    const element = h("div", {}, input, ends ? h("div", { class: "ends", "aria-hidden": "true" },
      h("span", {}, round(board.low)), h("span", {}, round(board.high))) : null);
    return { element, follow(value) {
      input.classList.toggle("unset", value === "");  // no thumb: its place would be a hint
      if (value !== "" && input.value !== value) input.value = value;
    } };
  }
  const nice = (span) => 10 ** Math.floor(Math.log10((span || 1) / 50));
  const round = (value) => Number(value).toLocaleString(language, { maximumSignificantDigits: 4, useGrouping: false });
  const told = (marks, low, high) => [t("from_to", { low: round(low), high: round(high) }), ...marks.map((m) => `${m.label}: ${round(m.at)}`)].join("; ");

  // The form of a question: made once, and then left in peace.
  function answerForm(state) {
    const question = state.question, place = `sabm ${token} ${question.number}`;
    let saved = {};
    try { saved = JSON.parse(kept(place) || "{}"); } catch { saved = {}; }
    const given = {}, fields = {}, followers = [];
    for (const each of question.inputs) given[each.path] = saved[each.path] ?? (each.kind === "several" ? [] : "");
    const thought = h("input", { type: "text", name: "reasoning", autocomplete: "off", value: saved["\u0000"] || "" });
    const list = h("div", { class: "sabm-answer", style: "margin:0" });
    const fits = ([path, values]) => values.includes(String(given[path]));
    const shown = () => question.inputs.filter((each) => each.when.every(fits));
    const words = (text) => text.split(/\s+/).filter((word) => word).length;
    const name = (each) => (each.path ? "answer." + each.path : "answer");

    function changed() {
      keep(place, JSON.stringify({ ...given, "\u0000": thought.value }));
      const elements = shown().map((each) => fields[each.path].element);
      if (elements.some((each, i) => list.children[i] !== each) || list.children.length !== elements.length) list.replaceChildren(...elements);
      followers.forEach((follow) => follow());
    }
    function optionsField(each) {
      const several = each.kind === "several";
      const inputs = each.options.map((option) => {
        const input = h("input", { type: several ? "checkbox" : "radio", name: name(each), value: option,
          onchange: () => {
            given[each.path] = several ? inputs.filter((one) => one.checked).map((one) => one.value) : option;
            changed();
          } });
        input.checked = several ? given[each.path].includes(option) : given[each.path] === option;
        return input;
      });
      return { element: h("fieldset", { class: "sabm-field" }, h("legend", {}, each.label),
        h("div", { class: "options" }, inputs.map((input, i) => h("label", { class: "sabm-option" }, input, h("span", {}, each.words[i]))))),
        set(value) { const one = inputs.find((input) => input.value === value); if (one) { one.checked = true; given[each.path] = value; changed(); } } };
    }
    function typedField(each) {
      const common = { name: name(each), autocomplete: "off", oninput: () => { given[each.path] = input.value; count(); changed(); } };
      const input = each.kind === "number"
        ? h("input", { ...common, type: "number", min: each.low, max: each.high, step: each.step, inputmode: each.step === 1 ? "numeric" : "decimal" })
        : h("textarea", { ...common, rows: 3, onkeydown: (event) => {
          // Enter that ends the choice of a character in an input method is not meant to send.
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        } });
      input.value = given[each.path];
      const counted = each.max_words ? h("p", { class: "sabm-hint" }) : null;
      const count = () => {
        if (!counted) return;
        const n = words(input.value);
        counted.textContent = t(n > each.max_words ? "words_cut" : "words", { n, most: each.max_words });
      };
      count();
      return { element: h("div", { class: "sabm-field" }, h("label", { class: "sabm-field" }, h("span", {}, each.label), input), counted),
        set(value) { input.value = value; given[each.path] = value; changed(); } };
    }
    for (const each of question.inputs) fields[each.path] = each.options.length ? optionsField(each) : typedField(each);

    let figure = null;
    if (question.board && BOARDS[question.board.kind]) {
      const path = question.inputs[0].path;
      const [parts, follow] = BOARDS[question.board.kind](question.board, fields[path]);
      figure = h("figure", { class: "board" }, parts);
      followers.push(() => follow(given[path]));
    }
    const refusal = h("p", { class: "sabm-refusal", role: "alert", hidden: true });
    const button = h("button", { type: "submit" }, t("send"));
    const ring = s("circle", { cx: 12, cy: 12, r: 9, fill: "none", stroke: "currentColor", "stroke-width": 5, pathLength: 100, "stroke-dasharray": "100 100" });
    const left = h("span", {});
    const clock = h("span", { class: "sabm-clock", role: "timer", hidden: question.remaining_s === null },
      s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, ring), left);
    let end = 0, held = null, sending = false, paused = false, all = question.remaining_s || 1;
    async function send(event) {
      if (event) event.preventDefault();
      if (sending || paused) return;
      sending = button.disabled = true;
      const values = {};
      for (const each of shown()) values[each.path] = Array.isArray(given[each.path]) ? given[each.path].join(", ") : String(given[each.path]);
      let problem = "";
      try {
        problem = (await postAgain(`/play/${token}/answer`, { question: question.number, values, reasoning: thought.value })).problem;
      } catch { problem = t("send_again"); }
      sending = button.disabled = false;
      if (problem) { refusal.textContent = problem; refusal.hidden = false; } else { drop(place); missed = ""; }
    }
    const element = h("form", { class: "sabm-answer", "data-question": question.number, novalidate: true, onsubmit: send },
      figure, list, question.reasoning ? h("label", { class: "sabm-field" },
        h("span", {}, t("reasoning")), thought) : null, refusal, h("div", { class: "sabm-send" }, button, clock));
    thought.addEventListener("input", changed);
    changed();
    return {
      number: question.number, element,
      focus() {
        const first = element.querySelector("[name^=answer]:checked") || element.querySelector("[name^=answer]");
        if (first) first.focus({ preventScroll: true });
      },
      update(now) {
        paused = now.paused;
        button.disabled = sending || paused;
        all = Math.max(all, now.question.remaining_s || 0);
        held = paused ? now.question.remaining_s : null;
        end = performance.now() + 1000 * (now.question.remaining_s || 0);
        this.tick();
      },
      tick() {
        const seconds = Math.max(0, held === null ? (end - performance.now()) / 1000 : held), whole = Math.ceil(seconds);
        const text = paused ? t("stopped") : t("left", { time: `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}` });
        if (left.textContent !== text) left.textContent = text;
        ring.setAttribute("stroke-dasharray", `${100 * seconds / all} 100`);
        clock.classList.toggle("soon", seconds < 10 && !paused);
      },
    };
  }

  // The page of a seat. Each part is drawn again only when what it shows has changed.
  const PARTS = ["offline", "missed", "head", "told", "now", "form", "rules", "rule", "vote", "debrief", "results", "turns"];
  const places = {};
  const drawn = {};
  let form = null;
  // A question whose time ran out while nobody looked: the phone slept, or the page was closed.
  const OPEN = `sabm ${token} open`;
  let slept = kept(OPEN), missed = "";
  document.addEventListener("visibilitychange", () => { if (document.hidden && form) slept = String(form.number); });
  function lookBack(state) {
    const now = state.question ? String(state.question.number) : "";
    if (slept !== null && slept !== now) {
      const turn = state.turns[state.turns.length - 1 - Number(slept)];
      if (turn && turn.missed) missed = t("away", { what: turn.round });
      slept = null;
    }
    if (now) keep(OPEN, now); else drop(OPEN);
    if (!document.hidden) slept = null;
  }
  function part(name, data, build) {
    const key = JSON.stringify(data);
    if (drawn[name] === key) return;
    drawn[name] = key;
    const elements = data === null ? [] : [build(data)].flat().filter(Boolean);
    if (places[name].matches(":empty") && !elements.length) return;
    places[name].replaceChildren(...elements);
  }
  // A wide table becomes one block a round on a phone: nothing is cut, nor has to be scrolled aside.
  const opened = new Set();
  const table = (one) => h("details", { open: opened.has(one.caption),
    ontoggle: (event) => (event.target.open ? opened.add(one.caption) : opened.delete(one.caption)) },
    h("summary", {}, one.caption),
    h("div", { class: "sabm-table", tabindex: 0, role: "region", "aria-label": one.caption },
      h("table", { class: one.columns.length > 4 ? "stacked" : false },
        h("thead", {}, h("tr", {}, one.columns.map((title) => h("th", { scope: "col" }, title)))),
        h("tbody", {}, one.rows.map((row) => h("tr", {}, row.map((cell, i) => h("td", { "data-title": one.columns[i] }, cell))))))));
  const prose = (text) => h("div", { class: "prose" }, text);

  const lead = (rule) => h("p", { class: "sabm-lead" }, rule);
  // After the first round the rule makes room for the result and the field, and stands below them.
  const below = (state) => state.question && state.rounds.done > 0;
  function head(state) {
    const { rounds, score } = state;
    const pips = rounds && rounds.n > 1 && rounds.n <= 30
      ? h("ol", { class: "game-rounds", "aria-label": t("rounds_done", { n: rounds.n, done: rounds.done }) },
        Array.from({ length: rounds.n }, (_, i) => h("li", { class: i < rounds.done ? "done" : i === rounds.done && !rounds.over ? "now" : "" })))
      : null;
    return h("header", {}, h("h1", {}, state.title),
      h("div", { class: "game-head" }, state.who ? h("p", {}, state.who) : null,
        state.word ? h("p", {}, t("your_word") + " ", h("span", { class: "game-word" }, state.word)) : null),
      state.rule && !below(state) ? lead(state.rule) : null, pips,
      score ? h("p", { class: "game-score" }, h("span", {}, `${score.label}${texts.colon}`, h("b", {}, score.value)),
        score.rank ? h("span", {}, t("rank") + texts.colon, h("b", {}, t("rank_of", score))) : null) : null);
  }
  function now(state) {
    const elements = state.lines.map((each, i) => h(i === 0 && state.heading ? "h2" : "p", {}, each));
    if (state.text) elements.push(state.english ? h("p", { class: "sabm-hint" }, t("in_english")) : null,
      h("div", { class: "prose", lang: state.english ? "en" : false }, state.text));
    if (state.waiting) elements.push(h("div", { class: "waiting", "aria-hidden": "true" }, h("i"), h("i"), h("i")));
    return elements.filter(Boolean);
  }
  // A figure as a file of its own, with the colours of the light page.
  function takeHome(figure) {
    return h("button", { type: "button", class: "take", onclick: () => {
      const own = figure.cloneNode(true);
      own.setAttribute("style", "--sabm-free:#0072b2;--sabm-soft:#57606a;--sabm-card:#fff;color:#1b1f24;background:#fff");
      const link = h("a", { download: "sabm-figure.svg", href: URL.createObjectURL(new Blob([own.outerHTML], { type: "image/svg+xml" })) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    } }, t("save"));
  }
  // The vote at the end.
  function ballot(vote) {
    const refusal = h("p", { class: "sabm-refusal", role: "alert", hidden: true });
    const button = h("button", { type: "submit" }, t("vote"));
    const option = (agent, words) => h("label", { class: "sabm-option" },
      h("input", { type: "radio", name: "suspect", value: agent, required: true }), h("span", {}, words));
    async function send(event) {
      event.preventDefault();
      const chosen = event.target.querySelector(":checked");
      if (!chosen) return;
      button.disabled = true;
      let problem;
      try { problem = (await post(`/play/${token}/vote`, { suspect: Number(chosen.value) })).problem; }
      catch { problem = t("send_again"); }
      button.disabled = false;
      refusal.textContent = problem;
      refusal.hidden = !problem;
    }
    const hint = vote.label ? h("p", { class: "sabm-hint" }, t("by_round", vote)) : null;
    return h("section", { class: "sabm-card" }, h("h2", {}, vote.title), hint,
      h("form", { class: "sabm-answer", onsubmit: send }, h("fieldset", { class: "sabm-field" }, h("legend", {}, t("your_choice")),
        h("div", { class: "options" }, vote.options.map((each) => option(each.agent, each.did ? `${each.label}${texts.colon}${each.did}` : each.label)),
          option(0, t("nobody")))), refusal, h("div", { class: "sabm-send" }, button)));
  }
  function draw(state) {
    part("offline", null);
    lookBack(state);
    part("missed", missed || null, (text) => h("p", { class: "game-notice", role: "status" }, text));
    part("head", { title: state.title, who: state.who, word: state.word, rule: state.rule, rounds: state.rounds, score: state.score, question: Boolean(state.question) }, head);
    const question = state.question;
    part("rule", below(state) ? state.rule : null, lead);
    part("told", state.told || null, (told) => h("section", { class: "sabm-card told" },
      h("h2", {}, told.title), told.lines.map((line) => h("p", {}, line))));
    part("now", { lines: state.lines, heading: state.heading, waiting: state.waiting,
      text: question ? question.text : "", english: question && question.in_english && language !== "en" }, now);
    if (question && (!form || form.number !== question.number)) {
      form = answerForm(state);
      places.form.replaceChildren(form.element);
      places.card.hidden = false;  // nothing in what is hidden takes the focus
      form.focus();
    } else if (!question && form) {
      form = null;
      places.form.replaceChildren();
    }
    if (form) form.update(state);
    part("rules", question ? question.rules : null, (rules) =>
      h("details", {}, h("summary", {}, t("rules")), prose(rules)));
    places.card.hidden = places.now.matches(":empty") && !form;
    part("vote", state.vote || null, ballot);
    part("debrief", state.debrief || null, (debrief) => {
      const section = h("section", { class: "sabm-card debrief" }, h("h2", {}, debrief.title));
      for (const each of debrief.charts) {
        section.append(h("p", {}, each.words));
        if (!each.svg) continue;
        const figure = new DOMParser().parseFromString(each.svg, "image/svg+xml").documentElement;
        section.append(figure, takeHome(figure));
      }
      return section;
    });
    part("results", state.tables.length ? { heading: state.results, tables: state.tables } : null, (results) =>
      h("section", { class: "sabm-card" }, results.heading ? h("h2", {}, results.heading) : null, results.tables.map(table)));
    part("turns", state.turns.length ? state.turns : null, (turns) =>
      h("section", { class: "sabm-card" }, h("h2", {}, t("turns")),
        turns.map((turn) => h("details", {}, h("summary", {}, turn.title), h("h3", {}, t("asked")), prose(turn.asked),
          h("h3", {}, t("answered")), h("p", { class: "answered" }, turn.answer),
          h("details", {}, h("summary", {}, t("rules")), prose(turn.rules))))));
  }
  async function follow() {
    const again = location.hash === AGAIN ? h("p", { class: "game-notice", role: "status" }, t("again")) : null;
    for (const name of PARTS) places[name] = h("div", name === "now" ? { "aria-live": "polite" } : {});
    places.card = h("section", { class: "sabm-card", hidden: true }, places.now, places.form, places.rules);
    app.replaceChildren(...[again].filter(Boolean), ...PARTS.filter((n) => n !== "form" && n !== "rules").map((n) => (n === "now" ? places.card : places[n])));
    setInterval(() => { if (form) form.tick(); }, 250);
    let version = -1, take = true;
    for (;;) {
      try {
        if (take) await post(`/play/${token}/take`, {});
        const answer = await fetch(`${base}/play/${token}/state?after=${version}&lang=${language}`, { cache: "no-store", signal: within(POLL_MS) });
        const state = await answer.json();
        take = state.take;  // a game that was cut off may come back
        version = state.version;
        draw(state);
        if (version < 0) await sleep(POLL_AGAIN_MS);
      } catch {
        version = -1;
        part("offline", t("offline"),
          (text) => h("p", { class: "game-offline", role: "status" }, text));
        await sleep(POLL_AGAIN_MS);
      }
    }
  }
  if (token) follow(); else join();
})();
