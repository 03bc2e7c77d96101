(() => {
  const field = document.querySelector("[data-search]");
  const wrong = document.querySelector("[data-invalid]");
  const all = [...document.querySelectorAll("[data-find]")];
  const texts = all.map((each) => each.textContent.toLowerCase());
  const count = document.querySelector(".search output");
  const show = () => {
    const words = field.value.toLowerCase().trim();
    let found = 0;
    all.forEach((each, i) => {
      const fits = texts[i].includes(words) && !(wrong && wrong.checked && !("wrong" in each.dataset));
      each.hidden = !fits;
      found += fits;
    });
    count.textContent = words || (wrong && wrong.checked) ? `${found} of ${all.length}` : "";
  };
  const open = () => {
    const at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (at && at.tagName === "DETAILS") at.open = true;
  };
  if (field) {
    document.querySelectorAll(".search").forEach((each) => { each.hidden = false; });
    field.addEventListener("input", show);
    if (wrong) wrong.addEventListener("change", show);
  }
  addEventListener("hashchange", open);
  open();
})();
