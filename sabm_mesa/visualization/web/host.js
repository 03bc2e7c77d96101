"use strict";
(() => {
  const { board, world, slideControls, follow } = sabm;
  const main = document.querySelector("main");
  const place = (id) => document.getElementById(id), [now, rest, form] = ["now", "rest", "form"].map(place);
  const query = new URLSearchParams(location.search), opened = new Set();
  const asked = { game: query.get("game") || "", query: location.search, typed: {} };
  let state = null, code = "", sure = "", drawnAt = 0, times = 0;

  const post = async (path, content) => {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });
    if (answer.status === 403) location.reload();
    return answer.status === 200 ? answer.json() : { problem: "The viewer could not do that: load the page again." };
  };
  const button = (words, what, attributes = {}) => h("button", { type: "button", "data-do": what, ...attributes }, words);
  const link = (words, path) => h("a", { href: path, target: "_blank", rel: "noopener" }, words);
  const folded = (key, words, ...inside) => h("details", { "data-key": key, open: opened.has(key) }, h("summary", {}, words), ...inside);
  document.addEventListener("toggle", ({ target }) => {
    if (target.dataset.key) opened[target.open ? "add" : "delete"](target.dataset.key);
  }, true);

  // Replaces what has changed, so that a button stays the same while it is pressed.
  function patch(parent, parts) {
    const wanted = parts.flat().filter(Boolean), there = [...parent.children];
    wanted.forEach((part, i) => {
      const old = there[i];
      if (!old) parent.append(part);
      else if (old.dataset.parts && old.dataset.parts === part.dataset.parts) {
        old.className = part.className;
        patch(old, [...part.children]);
      }
      else if (!old.isEqualNode(part)) old.replaceWith(part);
    });
    there.slice(wanted.length).forEach((old) => old.remove());
  }

  // The form for a new game.
  const control = (field) => {
    const id = `field-${field.name}`, { name } = field;
    if (field.kind === "switch") {
      return h("label", { class: "switch" }, h("input", { type: "checkbox", name, checked: field.value }), " ", field.label);
    }
    const input = field.kind === "choice"
      ? h("select", { id, name }, Object.entries(field.options).map(([value, words]) => h("option", { value, selected: value === field.value }, words)))
      : h("input", { id, name, value: field.value, inputmode: { whole: "numeric", number: "decimal" }[field.kind], autocomplete: "off", "aria-describedby": field.hint && `${id}-hint` });
    return h("div", { class: "field" }, h("label", { for: id }, field.label), input, field.hint && h("p", { class: "hint", id: `${id}-hint` }, field.hint));
  };
  const grid = (fields) => h("div", { class: "fields" }, fields.map(control));
  async function drawForm() {
    const mine = (times += 1), got = await post("/host/form", asked);
    if (mine !== times) return;
    if (!got.fields) {
      form.replaceChildren(h("p", { id: "problem", class: "problem", role: "alert" }, got.problem));
      return;
    }
    asked.game = got.game;
    const linked = asked.query.includes("game="), more = got.fields.filter((field) => field.more);
    const fields = [grid(got.fields.filter((field) => !field.more)), folded("more", "More settings", grid(more))];
    for (const card of document.querySelectorAll("[data-scenario]")) card.setAttribute("aria-checked", String(card.dataset.scenario === got.game));
    form.dataset.game = got.game;
    form.replaceChildren(linked ? "" : h("h2", {}, got.title),
      h("p", { id: "problem", class: "problem", role: "alert" }, got.problem),
      linked ? h("p", { id: "words" }, got.words) : "",
      ...(linked ? [] : fields),
      h("p", {}, button("Open the game", "open", { class: "main" })),
      linked ? folded("settings", "Check or change the settings", ...fields) : "");
    if (!linked) place("cards").open = true;
  }
  form.addEventListener("input", ({ target }) => {
    const { name, type, value, checked } = target;
    if (type !== "checkbox" && value === "") delete asked.typed[name];  // as it was before
    else asked.typed[name] = type === "checkbox" ? checked : value;
  });
  form.addEventListener("change", async () => {
    const mine = (times += 1), got = await post("/host/form", asked);
    if (mine !== times) return;
    place("problem").textContent = got.problem;
    if (!got.fields) return;
    if (place("words")) place("words").textContent = got.words;
    for (const field of got.fields) {
      const input = form.querySelector(`input[id="field-${field.name}"]`);
      if (input && input !== document.activeElement && !(field.name in asked.typed)) input.value = field.value;
    }
  });
  async function openGame(pressed) {
    pressed.disabled = true;  // a second click would open a second game
    const got = await post("/host/open", asked);
    pressed.disabled = false;
    place("problem").textContent = got.code ? "" : got.problem;
    if (!got.code) return;
    Object.assign(asked, { query: "", typed: {} });
    history.replaceState(null, "", "/host");
    place("new").open = false;
    drawForm();
    choose(got.code);
  }

  // The game on the screen.
  function controls({ status, paused, code }) {
    if (status === "open") return h("div", { class: "does" }, button("Start the game", "start", { class: "main" }));
    if (status === "over") return h("div", { class: "does" }, slideControls({ ...state.now, texts: state.texts }, show),
      h("a", { class: "button", href: `/host/all/${code}`, download: `${code}.zip` }, "Download all: data, recording, report"));
    return h("div", { class: "does" }, button(paused ? "Go on" : "Pause", paused ? "go on" : "pause"), button("+30 seconds", "more"),
      sure === `end ${code}` ? [h("span", {}, "End it for all? "), button("Play on", "keep"), button("Yes, end it", "end", { class: "main" })] : button("End the game", "ask", { "data-sure": `end ${code}` }));
  }
  function tile(seat) {
    return h("li", { class: `seat sabm-seat-${seat.state}`, "data-parts": seat.token }, h("strong", {}, seat.name),
      h("span", { "data-since": seat.since, "data-state": seat.state }, seat.state),
      h("span", { class: "seat-does" },
        seat.asked && button("Skip", "skip", { "data-token": seat.token, "aria-label": `Skip ${seat.name}` }),
        seat.taken && button("Free the seat", "free", { "data-token": seat.token, "aria-label": `Free the seat of ${seat.name}` })));
  }
  function table(caption, { columns, rows }) {
    return h("div", { class: "table", tabindex: 0, role: "region", "aria-label": caption }, h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))))));
  }
  function talk(messages) {
    if (!messages.length) return null;
    return h("div", { class: "talk", tabindex: 0, role: "region", "aria-label": "Conversation" }, h("h3", {}, "Conversation"),
      h("ul", {}, messages.map((one) => h("li", {}, h("span", { class: "hint" }, `${state.now.board ? state.now.board.noun : "Round"} ${one.round} · ${one.who} to ${one.to}`), h("br"), one.text))));
  }
  function linksOf(game) {
    const { local, origin } = sabm.reached(state.address);
    const warning = local && "These links work on this computer only. For players at other computers start the viewer with: sabm view --host 0.0.0.0";
    const address = (path) => origin + path;
    return folded(`links ${game.code}`, "A link for each seat", h("p", { class: "hint" }, game.minds),
      warning && h("p", { class: "problem", role: "alert" }, warning),
      h("p", {}, button("Copy all links", "copy", { "data-text": game.links.map(([label, path]) => `${label}: ${address(path)}`).join("\n") })),
      h("ul", { class: "links" }, game.links.map(([label, path]) => h("li", {}, h("span", {}, label),
        h("input", { value: address(path), readonly: true, "aria-label": `Link to the seat of ${label}` }),
        button("Copy", "copy", { "data-text": address(path), "aria-label": `Copy the link of ${label}` })))));
  }
  function onScreen(game) {
    const full = { ...game, texts: state.texts, language: state.language }, over = game.status === "over", open = game.status === "open";
    const groups = game.board && board(full, show), scenes = open ? [] : game.scenes.map(world);
    const recorded = game.recordings.map((path) => h("p", {}, h("span", {}, `Recorded in ${path}`),
      over && [" ", h("a", { href: `/recording?file=${encodeURIComponent(path)}` }, "Read the recording")]));
    return [
      h("div", { class: "head", "data-parts": "head" },
        h("h1", {}, game.links.length && game.group ? `${game.title}, ${game.board.groups.length} groups` : game.title),
        !over && h("p", { class: "code" }, "Code ", h("strong", { class: "sabm-code" }, game.code)),
        controls(game),
        game.left !== null && h("p", { class: "clock", role: "timer", "aria-label": "Time left" })),
      h("p", { class: "progress", role: "status" }, game.progress),
      h("p", { class: "walls" }, link("For the projector: code, QR and charts", `/screen/${game.code}`), link("Read-only, for another computer", game.wall),
        over && link("The results on one page", `/results/${game.code}`)),
      h("div", {}, game.problems.map((line) => h("p", {}, line))),
      h("div", { class: "screen", "data-parts": "screen" },
        h("section", { class: "course", "aria-label": "The game", "data-parts": "course" }, ...[groups, ...scenes].filter(Boolean)),
        !over && h("section", { class: "people", "aria-label": "Seats", "data-parts": "people" },
          h("h2", {}, game.group ? `Seats of Group ${game.group}` : "Seats"),
          h("ul", { class: "seats", "data-parts": "seats" }, game.seats.map(tile)))),
      h("div", { class: "foot", "data-parts": "foot" },
        !open && folded(`full ${game.code}`, game.group ? `Numbers and conversation of Group ${game.group}` : "Numbers and conversation",
          table("The game by round", game.table), talk(game.talk)),
        linksOf(game),
        h("div", { class: "hint recorded" }, recorded)),
      h("p", { class: "closing" }, game.status === "playing" ? null : sure === `close ${game.code}`
        ? ["Nobody can come back to a game that is closed. Close it? ", button("Keep it", "keep"), " ", button("Yes, close it", "close", { class: "main" })]
        : button("Close the game and its links", "ask", { "data-sure": `close ${game.code}` })),
    ];
  }
  function line(game, what, words) {
    return h("li", {}, h("span", {}, h("strong", {}, game.title), ` · ${game.words}`, h("br"), h("span", { class: "hint" }, game.minds)), button(words, what, { "data-code": game.code }));
  }
  function list(key, heading, games, what, words) {
    return games.length > 0 && h("section", { class: "card others" }, h("h2", {}, heading), h("ul", {}, games.map((game) => line(game, what, words))));
  }
  function draw() {
    const of = (over) => state.others.filter((game) => (game.status === "over") === over);
    const n = of(true).length;
    now.hidden = !state.now;
    now.className = state.now ? `card now-${state.now.status === "open" ? "open" : "begun"}` : "";
    document.title = `${state.now ? state.now.title : "Play with people"} · sabm`;
    if (now.dataset.code !== (state.now || {}).code) now.replaceChildren();
    now.dataset.code = (state.now || {}).code;
    patch(now, state.now ? onScreen(state.now) : []);
    patch(rest, [
      state.old.length > 0 && folded("old", `${state.old.length} more ${state.old.length > 1 ? "games" : "game"} of yours`, list("old", "Your other games", state.old, "show", "Show it")),
      list("others", "Opened in another browser", of(false), "share", "Host it here too"),
      n > 0 && folded("over", `${n} ${n > 1 ? "games" : "game"} of other browsers, over`, list("over", "Over", of(true), "share", "Host it here too")),
    ]);
    drawnAt = performance.now();
    tick();
  }
  const time = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  function tick() {
    const gone = (performance.now() - drawnAt) / 1000;
    const clock = now.querySelector(".clock");
    if (clock) clock.textContent = `${time(Math.max(0, Math.ceil(state.now.left - gone)))} left`;
    for (const seat of now.querySelectorAll("[data-since]")) seat.textContent = `${seat.dataset.state} ${time(Math.floor(Number(seat.dataset.since) + gone))}`;
  }
  setInterval(() => state && tick(), 500);

  // What is pressed.
  const show = (change) => post(`/screen/${state.now.code}/show`, change);
  async function copy(text, pressed) {
    const words = pressed.textContent, area = h("textarea", { class: "copied" }, text);
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // a page that did not come over https
      pressed.after(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    pressed.textContent = "Copied";
    setTimeout(() => { pressed.textContent = words; }, 1500);
  }
  const ownDoes = {
    open: openGame,
    ask: (pressed) => { sure = pressed.dataset.sure; draw(); },
    keep: () => { sure = ""; draw(); },
    copy: (pressed) => copy(pressed.dataset.text, pressed),
    show: (pressed) => { choose(pressed.dataset.code); scrollTo(0, 0); },
  };
  main.addEventListener("click", async ({ target }) => {
    const card = target.closest("[data-scenario]"), pressed = target.closest("[data-do]");
    if (card && (asked.query || card.dataset.scenario !== form.dataset.game)) {  // else it would draw over what is typed
      Object.assign(asked, { game: card.dataset.scenario, query: "", typed: {} });
      drawForm();
    }
    if (!pressed) return;
    const { do: what, token, code: other } = pressed.dataset;
    if (ownDoes[what]) { ownDoes[what](pressed); return; }
    await post("/host/do", { code: other || state.now.code, do: what, token });
    if (what === "share") choose(other);
  });

  const address = () => `/host/state?code=${code}`;
  function take(new_) {
    const first = !state, same = state && new_.version === state.version;
    state = new_;
    if (first && state.now && state.now.status !== "over" && !asked.query) place("new").open = false;
    if (!same) draw();
  }
  function choose(new_) {
    code = new_;
    askNow();
  }
  drawForm();
  const askNow = follow(address, () => (state ? state.version : ""), take);
})();
