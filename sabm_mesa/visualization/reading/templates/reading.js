(() => {
  const field = document.querySelector("[data-search]");
  const wrong = document.querySelector("[data-invalid]");
  const all = [...document.querySelectorAll("[data-find]")];
  const texts = all.map((entry) => entry.textContent.toLowerCase());
  const count = document.querySelector(".search output");
  const show = () => {
    const words = field.value.toLowerCase().trim();
    let matches = 0;
    all.forEach((entry, i) => {
      const fits = texts[i].includes(words) && !(wrong && wrong.checked && !("wrong" in entry.dataset));
      entry.hidden = !fits;
      matches += fits;
    });
    count.textContent = words || (wrong && wrong.checked) ? `${matches} of ${all.length}` : "";
  };
  const open = () => {
    const at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!at) return;
    if (at.tagName === "DETAILS") at.open = true;
    at.scrollIntoView();
  };
  if (field) {
    document.querySelectorAll(".search").forEach((box) => { box.hidden = false; });
    field.addEventListener("input", show);
    if (wrong) wrong.addEventListener("change", show);
  }
  const strip = document.querySelector(".timeline ol");
  const now = strip && strip.querySelector("[aria-current]");
  if (now) strip.scrollLeft = now.offsetLeft - strip.clientWidth / 2;
  addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea, [tabindex]") || event.altKey || event.ctrlKey || event.metaKey) return;
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = rel && document.querySelector(`.timeline a[rel=${rel}]`);
    if (link) link.click();
  });
  addEventListener("hashchange", open);
  open();
})();
