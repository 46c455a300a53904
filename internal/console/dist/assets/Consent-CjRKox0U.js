<<<<<<< HEAD:internal/console/dist/assets/Consent-DDtsQsS5.js
<<<<<<<< HEAD:internal/console/dist/assets/Consent-_1c-iDZh.js
import{t as e}from"./Checkbox-B7OkmBPN.js";import{t}from"./jsx-runtime-Wy9s6hX0.js";var n=t();function r({words:t,env:r,checked:i,setChecked:a}){return(0,n.jsxs)(`div`,{className:`stack tight`,children:[(0,n.jsx)(`div`,{className:`code`,children:(0,n.jsxs)(`pre`,{children:[t.map((e,t)=>(0,n.jsxs)(`span`,{children:[(0,n.jsx)(`span`,{className:`soft`,children:t===0?`program  `:`word ${String(t).padEnd(4)}`}),e===``?`(empty)`:e,`
========
import{t as e}from"./Checkbox-Dre9lgWN.js";import{t}from"./jsx-runtime-Wy9s6hX0.js";var n=t();function r({words:t,env:r,checked:i,setChecked:a}){return(0,n.jsxs)(`div`,{className:`stack tight`,children:[(0,n.jsx)(`div`,{className:`code`,children:(0,n.jsxs)(`pre`,{children:[t.map((e,t)=>(0,n.jsxs)(`span`,{children:[(0,n.jsx)(`span`,{className:`soft`,children:t===0?`program  `:`word ${String(t).padEnd(4)}`}),e===``?`(empty)`:e,`
>>>>>>>> wt-a:internal/console/dist/assets/Consent-DDtsQsS5.js
=======
import{t as e}from"./Checkbox-C3XGa7Ma.js";import{t}from"./jsx-runtime-Wy9s6hX0.js";var n=t();function r({words:t,env:r,checked:i,setChecked:a}){return(0,n.jsxs)(`div`,{className:`stack tight`,children:[(0,n.jsx)(`div`,{className:`code`,children:(0,n.jsxs)(`pre`,{children:[t.map((e,t)=>(0,n.jsxs)(`span`,{children:[(0,n.jsx)(`span`,{className:`soft`,children:t===0?`program  `:`word ${String(t).padEnd(4)}`}),e===``?`(empty)`:e,`
>>>>>>> wt-a:internal/console/dist/assets/Consent-CjRKox0U.js
`]},t)),Object.keys(r??{}).map(e=>(0,n.jsxs)(`span`,{children:[(0,n.jsxs)(`span`,{className:`soft`,children:[`env`,`      `]}),e,`=•••`,`
`]},e))]})}),(0,n.jsx)(e,{label:`I want the machine of this instance to run exactly this, with the rights that the instance has.`,checked:i,onChange:e=>a(e.currentTarget.checked)})]})}export{r as t};