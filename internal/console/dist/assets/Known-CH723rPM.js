<<<<<<< HEAD:internal/console/dist/assets/Known-BX8zIiMH.js
<<<<<<<< HEAD:internal/console/dist/assets/Known-fvRF_nQQ.js
import{K as e}from"./index-BtzJkgtk.js";import{a as t,n,t as r}from"./jsx-runtime-Wy9s6hX0.js";var i=t(n(),1),a=r();function o({known:t,change:n,...r}){let o=(0,i.useId)();return(0,a.jsxs)(a.Fragment,{children:[(0,a.jsx)(e,{...r,list:o,autoComplete:`off`,spellCheck:!1,onChange:e=>n(e.currentTarget.value)}),(0,a.jsx)(`datalist`,{id:o,children:[...new Set(t)].filter(Boolean).map(e=>(0,a.jsx)(`option`,{value:e},e))})]})}export{o as t};
========
import{K as e}from"./index-XXlYYMjD.js";import{a as t,n,t as r}from"./jsx-runtime-Wy9s6hX0.js";var i=t(n(),1),a=r();function o({known:t,change:n,...r}){let o=(0,i.useId)();return(0,a.jsxs)(a.Fragment,{children:[(0,a.jsx)(e,{...r,list:o,autoComplete:`off`,spellCheck:!1,onChange:e=>n(e.currentTarget.value)}),(0,a.jsx)(`datalist`,{id:o,children:[...new Set(t)].filter(Boolean).map(e=>(0,a.jsx)(`option`,{value:e},e))})]})}export{o as t};
>>>>>>>> wt-a:internal/console/dist/assets/Known-BX8zIiMH.js
=======
import{K as e}from"./index-CGfZyKja.js";import{a as t,n,t as r}from"./jsx-runtime-Wy9s6hX0.js";var i=t(n(),1),a=r();function o({known:t,change:n,...r}){let o=(0,i.useId)();return(0,a.jsxs)(a.Fragment,{children:[(0,a.jsx)(e,{...r,list:o,autoComplete:`off`,spellCheck:!1,onChange:e=>n(e.currentTarget.value)}),(0,a.jsx)(`datalist`,{id:o,children:[...new Set(t)].filter(Boolean).map(e=>(0,a.jsx)(`option`,{value:e},e))})]})}export{o as t};
>>>>>>> wt-a:internal/console/dist/assets/Known-CH723rPM.js
