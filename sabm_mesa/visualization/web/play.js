"use strict";
(() => {
  const app = document.getElementById("app");
  const { token } = app.dataset;
  const MOST_BESIDE = 4;  // options that are beside Send
  const POLL_AGAIN_MS = 1500, POST_MS = 8000, POLL_MS = 35000;

  // Texts in the language of the page; every request says which one it is.
  const language = document.documentElement.lang;
  const texts = JSON.parse(document.getElementById("texts").textContent);
  const plural = new Intl.PluralRules(language);
  function t(key, values = {}) {
    const known = texts[key], text = known.one ? known[plural.select(values.n) === "one" ? "one" : "many"] : known;
    return text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
  }

  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

  const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private page */ } };
  const drop = (name) => { try { localStorage.removeItem(name); } catch { /* private page */ } };
  document.getElementById("language").addEventListener("change", (event) => {
    const address = new URL(location.href);
    address.searchParams.set("lang", event.target.value);
    location.replace(address);
  });

  // Nothing takes the focus by itself where a keyboard on the glass would cover the question.
  const keyboard = matchMedia("(pointer:fine)").matches;
  // The page is as high as the screen above the keyboard, so that Send is always seen.
  if (window.visualViewport) visualViewport.addEventListener("resize", () => {
    if (visualViewport.scale === 1) { document.body.style.height = `${visualViewport.height}px`; scrollTo(0, 0); }
  });
  const menu = document.querySelector(".phone-menu");
  document.addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });

  // A connection may be dead without a word: what gets no response in time has failed.
  const within = (ms) => (AbortSignal.timeout ? AbortSignal.timeout(ms) : undefined);
  async function post(path, content) {
    const answer = await fetch(`${path}?lang=${language}`, {
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
      if (answer.path) location.assign(answer.path + location.search + (answer.again ? AGAIN : ""));
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
    if (keyboard) (app.dataset.code ? seat.querySelector("button") : code).focus();
  }

  // Boards: each is beside the inputs of the form, which stay, and sets them. A board returns its
  // elements, and what is to be done when the input has changed. It is as wide as the page, so that
  // its words are as large as those around it.
  const width = () => Math.max(250, Math.min(680, app.clientWidth - 66));
  const BOARDS = {
    line(board, field) {
      const slide = slider(board, field);
      return [[slide.element], (value) => slide.follow(value)];
    },
    tags(board, field) {
      const wide = width(), beside = Math.max(1, Math.floor(wide / 145));
      const tag = (name, value, own) => {
        const text = s("text", { x: 70, y: 52, "text-anchor": "middle", style: "font-size:22px;font-weight:700" }, value);
        return [s("g", {}, s("path", { d: "M8 40L30 18h100v52H30z", fill: own ? "#0072b233" : "none",
          stroke: own ? "#0072b2" : "currentColor", "stroke-width": 2 }), s("circle", { cx: 26, cy: 44, r: 4, fill: "currentColor" }),
          text, s("text", { x: 70, y: 90, "text-anchor": "middle", class: "soft" }, name)), text];
      };
      const [own, mine] = tag(t("you_now"), "?", true);
      const others = board.tags.map((each) => tag(t("last", { name: each.name }), each.at === null ? "–" : round(each.at))[0]);
      const all = [own, ...others];
      all.forEach((each, i) => each.setAttribute("transform", `translate(${(i % beside) * 145} ${Math.floor(i / beside) * 100})`));
      const svg = s("svg", { viewBox: `0 0 ${wide} ${Math.ceil(all.length / beside) * 100}`, role: "img", "aria-label":
        t("tags_label", { tags: board.tags.map((one) => `${one.name} ${one.at === null ? t("none_yet") : round(one.at)}`).join(", ") }) }, all);
      const slide = slider(board, field);
      return [[svg, slide.element], (value) => { slide.follow(value); mine.textContent = value === "" ? "?" : value; }];
    },
    level(board, field) {
      const wide = width(), height = (units) => 130 * Math.max(0, units) / board.capacity;
      const words = h("figcaption", {}), surface = 150 - height(board.level);
      const level = s("rect", { x: 2, y: surface, width: wide - 4, height: height(board.level), rx: 12, fill: "#0072b2", opacity: .35 });
      const taken = s("rect", { x: 2, y: surface, width: wide - 4, fill: "#d55e00", opacity: .6 });
      const svg = s("svg", { viewBox: `0 0 ${wide} 156`, role: "img", "aria-label": t("level_label", board) },
        s("path", { d: `M2 16v122q0 14 14 14h${wide - 32}q14 0 14-14V16`, fill: "none", stroke: "currentColor", "stroke-width": 3 }), level, taken);
      const slide = slider({ low: 0, high: board.level, step: 1 }, field);
      return [[svg, words, slide.element], (value) => {
        slide.follow(value);
        const units = Math.min(board.level, Math.max(0, Number(value) || 0));
        taken.setAttribute("height", height(units));
        words.textContent = value === "" ? t("level_now", board)
          : t("level_taken", { ...board, units, left: board.level - units });
      }];
    },
    split(board, field) {
      const wide = width(), side = wide * .36, left = side / 2 + 2, right = wide - left;
      const amount = (x) => s("text", { x, y: 74, "text-anchor": "middle", style: "font-size:26px;font-weight:700" });
      const keeps = amount(left), put = amount(right);
      const word = (x, text) => s("text", { x, y: 130, "text-anchor": "middle", class: "soft" }, text);
      const svg = s("svg", { viewBox: `0 0 ${wide} 136`, role: "img",
        "aria-label": t("split_label", board) },
        s("rect", { x: 2, y: 30, width: side, height: 76, rx: 14, fill: "none", stroke: "currentColor", "stroke-width": 2 }),
        s("path", { d: `M${wide - side - 2} 30h${side}l-16 76H${wide - side + 14}z`, fill: "#0072b233", stroke: "#0072b2", "stroke-width": 2 }),
        s("path", { d: `M${wide / 2 - 24} 68h46m-12-10 12 10-12 10`, fill: "none", stroke: "currentColor", "stroke-width": 3 }),
        keeps, put, word(left, t("split_kept")), word(right, t("split_put", { multiplier: round(board.multiplier) })));
      const slide = slider({ low: 0, high: board.whole, step: board.step || "any" }, field);
      return [[svg, slide.element], (value) => {
        slide.follow(value);
        const given = Math.min(board.whole, Math.max(0, Number(value) || 0));
        keeps.textContent = value === "" ? round(board.whole) : round(board.whole - given);
        put.textContent = value === "" ? "?" : round(given);
      }];
    },
    map(board, field, send) {
      // A cell is large enough for a finger, so a phone shows the neighbourhood in a large map.
      const least = 40, odd = (n) => (n % 2 ? n : n - 1);
      const whole = board.whole, wide = whole ? board.width : Math.min(board.width, odd(Math.floor(width() / least))), high = whole ? board.height : Math.min(board.height, 7);
      const from = (at, most, n) => Math.max(0, Math.min(most - n, at - Math.floor(n / 2)));
      const left = from(board.me[0], board.width, wide), top = from(board.me[1], board.height, high), cells = [], to = board.target;
      const inside = ([x, y]) => x >= left && x < left + wide && y >= top && y < top + high;
      const take = (option) => { field.set(option); if (!whole) send(); };
      const svg = scene(board, left, top, wide, high, whole ? 30 : 48, t(whole ? "map_whole" : "map"),
        board.options.map((each) => {
          const [x, y] = each.at;
          const cell = s("g", whole ? { class: "cell", onclick: () => take(each.option) }
            : { class: "cell", role: "button", tabindex: 0, "aria-label": each.words, onclick: () => take(each.option), onkeydown: (event) => { if (event.key === "Enter") take(each.option); } },
          s("rect", { x, y, width: 1, height: 1, "stroke-width": .05 }),
          whole ? optionName(board, each) : s("text", { x: x + .5, y: y + .68, "text-anchor": "middle", style: "font-size:.5px" }, each.words));
          cells.push([each.option, cell]);
          return cell;
        }),
        s("circle", { cx: board.me[0] + .5, cy: board.me[1] + .5, r: .44, fill: "none", stroke: "currentColor", "stroke-width": .12, "pointer-events": "none" }),
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
  // A part of the scene as the wall shows it: the ground, and the marks on it.
  function scene(board, left, top, wide, high, most, label, ...above) {
    const seen = ([x, y]) => x >= left && x < left + wide && y >= top && y < top + high;
    const mark = ([x, y, colour, shape]) => (shape === "^" ? s("path", { d: `M${x + .5} ${y + .12}l.4 .72h-.8z`, fill: colour }) : s("circle", { cx: x + .5, cy: y + .5, r: .36, fill: colour }));
    return s("svg", { viewBox: `${left} ${top} ${wide} ${high}`, class: "scene", style: `max-width:${wide * most}px`, role: "group", "aria-label": label },
      s("rect", { x: left, y: top, width: wide, height: high, fill: "var(--sabm-card)" }), (board.ground || []).filter(seen).map(([x, y, colour]) => s("rect", { x, y, width: 1.02, height: 1.02, fill: colour })), (board.marks || []).filter(seen).map(mark), ...above);
  }
  // Small pictures of a finished round.
  const PICTURES = {
    line(picture) {
      const wide = width(), low = picture.low, span = picture.high - low || 1, at = (value) => 10 + (wide - 20) * Math.min(1, Math.max(0, (value - low) / span));
      // Labels stand on the side on which no line of another mark crosses them.
      const known = [...picture.marks].sort((a, b) => b.at - a.at), ends = known.length > 0 && at(known[0].at) > wide * .6;
      if (ends) known.reverse();
      return s("svg", { viewBox: `0 0 ${wide} ${40 + 18 * known.length}`, role: "img", "aria-label": told(known, low, picture.high) },
        s("path", { d: `M10 10h${wide - 20}`, stroke: "currentColor", "stroke-width": 3, "stroke-linecap": "round" }),
        s("text", { x: 10, y: 30, class: "soft" }, round(low)), s("text", { x: wide - 10, y: 30, class: "soft", "text-anchor": "end" }, round(picture.high)),
        known.map((mark, i) => s("g", { transform: `translate(${at(mark.at)} 0)` },
          s("path", { d: `M0 4v${46 + 18 * i}`, stroke: "currentColor", "stroke-width": 2 }),
          s("text", { x: ends ? -6 : 6, y: 50 + 18 * i, "text-anchor": ends ? "end" : "start" }, `${mark.label} ${round(mark.at)}`))));
    },
    shares(picture) {
      const wide = width(), each = (wide - 4) / picture.parts, amount = round(picture.share);
      return s("svg", { viewBox: `0 0 ${wide} 46`, role: "img", "aria-label": `${picture.parts} × ${amount}` }, Array.from({ length: picture.parts }, (_, i) => s("rect", {
        x: 2 + i * each, y: 4, width: each - 2, height: 38, rx: 4, fill: "#0072b2", opacity: i ? .3 : 1 })),
      s("text", { x: 2 + each / 2, y: 29, "text-anchor": "middle", style: "font-weight:700;fill:#fff" }, each > 40 ? amount : ""));
    },
    path(picture) {
      const points = picture.path.map(([x, y]) => `${x + .5} ${y + .5}`), [x, y] = picture.path[picture.path.length - 1];
      return scene({ ground: picture.ground }, 0, 0, picture.width, picture.height, 18, points.join(", "),
        s("path", { d: `M${points.join("L")}`, fill: "none", stroke: "currentColor", "stroke-width": .25, "stroke-linejoin": "round", "stroke-linecap": "round" }),
        s("circle", { cx: x + .5, cy: y + .5, r: .4, fill: "currentColor" }));
    },
  };
  function optionName(board, { at: [x, y], option }) {
    // Beside the cell, inside the map.
    const anchor = x === 0 ? "start" : x === board.width - 1 ? "end" : "middle";
    const dx = { start: 1.3, end: -.3, middle: .5 }[anchor], dy = y === 0 ? 1.9 : y === board.height - 1 ? -.4 : .8;
    return s("text", { x: x + dx, y: y + dy, "text-anchor": anchor, style: "font-size:1px;font-weight:700;paint-order:stroke;stroke:var(--sabm-card);stroke-width:.3px" }, option);
  }
  function pointer([x, y], left, top, wide, high) {
    // An arrow at the edge of the map, towards what lies beyond it.
    const clamp = (value, low, most) => Math.max(low + .5, Math.min(low + most - .5, value + .5));
    const px = clamp(x, left, wide), py = clamp(y, top, high);
    const angle = Math.atan2(y + .5 - top - high / 2, x + .5 - left - wide / 2) * 180 / Math.PI;
    return s("path", { d: "M.45 0L-.25-.4v.8z", fill: "currentColor", transform: `translate(${px} ${py}) rotate(${angle})` });
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
        : h("textarea", { ...common, rows: 2, onkeydown: (event) => {
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
      const [parts, follow] = BOARDS[question.board.kind](question.board, fields[path], () => send());
      figure = h("figure", { class: "board" }, parts);
      followers.push(() => follow(given[path]));
    }
    const refusal = h("p", { class: "sabm-refusal", role: "alert", hidden: true });
    const stepping = question.board && question.board.kind === "map" && !question.board.whole;
    const here = stepping && question.board.options.find(({ at }) => String(at) === String(question.board.me));
    const button = h("button", { type: "submit", onclick: () => { if (here) fields[question.inputs[0].path].set(here.option); } }, t(here ? "wait" : "send"));
    let end = 0, held = null, sending = false, paused = false;
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
    // One short input is beside Send; several inputs are above.
    const only = question.inputs.length === 1 && question.inputs[0].kind !== "several" && question.inputs[0].options.length <= MOST_BESIDE;
    const element = h("form", { class: "phone-form", "data-question": question.number, novalidate: true, onsubmit: send },
      figure, only || stepping ? null : list, question.reasoning ? h("label", { class: "sabm-field" }, h("span", {}, t("reasoning")), thought) : null,
      h("div", { class: "phone-bar" }, refusal, only && !stepping ? list : null, button));
    thought.addEventListener("input", changed);
    changed();
    return {
      number: question.number, element,
      focus() {
        app.style.setProperty("--bar", `${element.lastChild.offsetHeight}px`);  // what the bar covers
        app.scrollTop = 0;
        places.now.scrollIntoView({ block: "nearest" });
        if (stepping) figure.scrollIntoView({ block: "nearest" });
        if (!keyboard) return;
        const first = element.querySelector("[name^=answer]:checked") || element.querySelector("[name^=answer]");
        if (first) first.focus({ preventScroll: true });
      },
      update(now) {
        paused = now.paused;
        button.disabled = sending || paused;
        held = paused ? now.question.remaining_s : null;
        end = performance.now() + 1000 * (now.question.remaining_s || 0);
        this.tick();
      },
      tick() {
        const seconds = Math.max(0, held === null ? (end - performance.now()) / 1000 : held), whole = Math.ceil(seconds);
        const time = `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
        if (clock.textContent !== time) clock.textContent = time;
        clock.setAttribute("aria-label", paused ? t("stopped") : t("left", { time }));
        clock.classList.toggle("soon", seconds < 10 && !paused);
        clock.hidden = question.remaining_s === null;
      },
    };
  }

  // The page of a seat. Each part is drawn again only when what it shows has changed.
  const PARTS = ["offline", "missed", "told", "lead", "now", "form", "said", "vote", "debrief", "results", "turns", "rules"];
  const clock = h("span", { class: "phone-clock", role: "timer", hidden: true });
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

  function head({ title, name, rounds, over }) {
    return [h("h1", {}, title), name ? h("span", {}, name) : null,
      rounds && !over ? h("span", { role: "img", "aria-label": rounds.label }, `${rounds.number}/${rounds.n}`) : null, clock];
  }
  const score = (one) => h("p", { class: "game-score" }, h("span", {}, `${one.label}${texts.colon}`, h("b", {}, one.value)),
    one.rank ? h("span", {}, t("rank") + texts.colon, h("b", {}, t("rank_of", one))) : null);
  const ask = (text) => { const [first, ...more] = text.split("\n"); return [h("h2", {}, first), more.length ? prose(more.join("\n").trim()) : null]; };
  function now(state) {
    const elements = state.lines.map((each, i) => h(i === 0 && state.heading ? "h2" : "p", {}, each));
    if (state.text) elements.push(state.english ? h("p", { class: "sabm-hint" }, t("in_english")) : null,
      state.english ? h("div", { class: "prose", lang: "en" }, state.text) : ask(state.text));
    if (state.waiting) elements.push(h("div", { class: "waiting", "aria-hidden": "true" }, h("i"), h("i"), h("i")));
    return elements.flat().filter(Boolean);
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
    const question = state.question, first = !state.rounds || (!state.rounds.done && !state.rounds.over);
    part("head", { title: state.title, name: state.name, rounds: state.round, over: state.rounds && state.rounds.over }, head);
    part("menu", state.word || null, (word) => h("p", {}, t("your_word") + " ", h("span", { class: "game-word" }, word)));
    part("lead", first && state.who ? { who: question ? "" : state.who, rule: state.rule } : null, ({ who, rule }) => [
      who ? h("p", {}, who) : null, h("p", { class: "sabm-lead" }, rule)]);
    part("told", state.told || state.score ? { told: state.told, score: state.score } : null, (done) => h("section", { class: "sabm-card told" },
      done.told ? [h("h2", {}, done.told.title), h("p", {}, done.told.lines.join(" ")),
        done.told.picture ? h("figure", { class: "board" }, PICTURES[done.told.picture.kind](done.told.picture)) : null] : null, done.score ? score(done.score) : null));
    part("said", question && question.said.length ? question.said : null, (said) => h("section", { class: "sabm-card" },
      h("h2", {}, t("said")), h("ul", { class: "said" }, said.map((one) => h("li", { class: one.own ? "own" : false }, h("b", {}, one.who), " ", one.text)))));
    part("now", { lines: state.lines, heading: state.heading, waiting: state.waiting,
      text: question ? question.text : "", english: question && question.in_english && language !== "en" }, now);
    if (question && (!form || form.number !== question.number)) {
      form = answerForm(state);
      places.form.replaceChildren(form.element);
      form.focus();
    } else if (!question && form) {
      form = null;
      clock.hidden = true;
      places.form.replaceChildren();
      app.scrollTop = 0;
    }
    if (form) form.update(state);
    part("rules", state.rule && !first ? { rule: state.rule, rules: question && question.rules } : question && question.rules ? { rules: question.rules } : null, (one) =>
      h("details", { class: "sabm-card" }, h("summary", {}, t("rules")), one.rule ? h("p", {}, one.rule) : null, one.rules ? prose(one.rules) : null));
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
    places.head = document.getElementById("head");
    places.menu = document.getElementById("menu");
    app.replaceChildren(...[again].filter(Boolean), ...PARTS.map((name) => places[name]));
    setInterval(() => { if (form) form.tick(); }, 250);
    let version = -1, take = true;
    for (;;) {
      try {
        if (take) await post(`/play/${token}/take`, {});
        const answer = await fetch(`/play/${token}/state?after=${version}&lang=${language}`, { cache: "no-store", signal: within(POLL_MS) });
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
