import{n as e}from"./client-De2EDo4f.js";var t=class{rest=``;push(e){let t=(this.rest+e).split(`

`);return this.rest=t.pop()??``,t.map(n).filter(e=>e.data!==``)}};function n(e){let t={name:`message`,data:``};for(let n of e.split(`
`))n.startsWith(`event: `)?t.name=n.slice(7):n.startsWith(`data: `)&&(t.data+=(t.data&&`
`)+n.slice(6));return t}async function r(n,r,i,a,o){let s=await e(n,r,i,{signal:a});if(!s.body)return;let c=new t,l=s.body.pipeThrough(new TextDecoderStream).getReader();for(;;){let{done:e,value:t}=await l.read();if(e)return;for(let e of c.push(t))o(e)}}export{r as t};