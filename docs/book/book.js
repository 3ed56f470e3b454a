// Search without a server: browsers let pages of files neither start workers nor read JSON. The index is a script, which is
// loaded with the search library at the first search.
(function () {
  const folder = new URL(".", document.currentScript.src);
  const load = (name) => new Promise((done) => {
    const script = document.createElement("script");
    script.src = new URL("search/" + name, folder);
    script.onload = done;
    document.head.append(script);
  });
  let ready = null;
  async function prepare() {
    await Promise.all([load("lunr.js"), load("search_index.js")]);
    const documents = new Map(window.SEARCH_INDEX.docs.map((d) => [d.location, d]));
    const index = lunr(function () {
      this.field("title", { boost: 5 });
      this.field("text");
      this.ref("location");
      for (const d of documents.values()) this.add(d);
    });
    return (query) => index.search(query).map((hit) => ({ ...documents.get(hit.ref), summary: documents.get(hit.ref).text.slice(0, 200) }));
  }
  window.Worker = class {
    postMessage(message) {
      const answer = (data) => setTimeout(() => this.onmessage?.({ data }));
      if (message.init) {
        answer({ config: { min_search_length: 3 } });
        answer({ allowSearch: true });
      }
      else (ready ??= prepare()).then((search) => {
        let results = [];
        try { results = search(message.query); } catch { /* a query that is still being typed */ }
        answer({ results });
      });
    }
  };
})();
