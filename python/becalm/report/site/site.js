// Filters the rows of the table "list" by the form "filters". The choice is kept behind the # of the address.
"use strict";
(() => {
  const form = document.getElementById("filters"), shown = document.getElementById("shown");
  const rows = [...document.querySelectorAll("#list tbody tr")];
  // Command lines and whole names of commits are found, too.
  const texts = rows.map(row => `${row.textContent} ${row.dataset.words ?? ""}`.toLowerCase());
  const fields = [...form.elements].filter(field => field.name);

  function apply() {
    const words = form.elements.find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = fields.filter(field => field.name !== "find" && field.value);
    let count = 0;
    rows.forEach((row, place) => {
      const fits = words.every(word => texts[place].includes(word))
        && chosen.every(field => row.dataset[field.name].split("\n").includes(field.value));
      row.hidden = !fits;
      count += fits;
    });
    shown.textContent = count === rows.length ? `${count} in all.` : `${count} of ${rows.length}.`;
  }

  function keep() {
    const state = new URLSearchParams();
    for (const field of fields) if (field.value) state.set(field.name, field.value);
    location.replace(`#${state}`);
  }

  function read() {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) field.value = state.get(field.name) ?? "";
    apply();
  }

  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("input", () => { apply(); keep(); });
  window.addEventListener("hashchange", read);
  form.hidden = false;
  read();
  if (form.elements.find.value) form.elements.find.focus();
})();
