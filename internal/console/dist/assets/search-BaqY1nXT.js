function e(e,...t){let n=e.toLowerCase().split(/\s+/).filter(Boolean);if(n.length===0)return!0;let r=t.join(`
`).toLowerCase();return n.every(e=>r.includes(e))}export{e as t};