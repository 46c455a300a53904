import{O as e,ct as t,dt as n,pt as r,w as i}from"./index-C_2lFD3d.js";import{t as a}from"./SegmentedControl-CI6Z_u7w.js";import{t as o}from"./Textarea-CrvLSJ99.js";import{t as s}from"./createLucideIcon-iAjGl61D.js";import{t as c}from"./play-DdrePM7a.js";import{t as l}from"./rotate-ccw-B39rl3vx.js";import{t as u}from"./square-5HOhEf5k.js";import{a as d,n as f,t as p}from"./jsx-runtime-Wy9s6hX0.js";import{t as m}from"./instanceURL-CcA-2C8z.js";import{t as h}from"./Json-GTA9WGRI.js";import{i as g,n as _,r as v}from"./SchemaForm-CMDtDezX.js";import{t as y}from"./store-Cbl2gT9A.js";import{t as b}from"./url-W-UATQx3.js";import{t as x}from"./Popover-BYfs2P-N.js";import{t as S}from"./TextInput-CmKH_7wb.js";import{t as C}from"./trash-CFx6BrYV.js";import{i as w,l as T,n as E,r as D,s as O,t as k,u as A}from"./run-DIxTvrvv.js";var j={name:`bookmark`,size:24,node:[[`path`,{d:`M17 3a2 2 0 0 1 2 2v15a1 1 0 0 1-1.496.868l-4.512-2.578a2 2 0 0 0-1.984 0l-4.512 2.578A1 1 0 0 1 5 20V5a2 2 0 0 1 2-2z`,key:`oz39mx`}]]};j.node;var M=s(j),N={name:`chevron-down`,size:24,node:[[`path`,{d:`m6 9 6 6 6-6`,key:`qrunsl`}]]};N.node;var P=s(N),F={name:`chevron-right`,size:24,node:[[`path`,{d:`m9 18 6-6-6-6`,key:`mthhwq`}]]};F.node;var I=s(F),L=d(f(),1),R=e=>`'${e.replaceAll(`'`,`'\\''`)}'`;function z(e){let t=[{key:`go`,name:`Go`,text:W(e),how:`go mod init example && go mod tidy && go run .`},{key:`ts`,name:`TypeScript`,text:K(e),how:`npm install @modelcontextprotocol/sdk && node call.mts`}];if(e.kind!==`tool`)return t;let n=`junctor tool call ${e.name} --json ${R(JSON.stringify(e.args))}`;return[{key:`curl`,name:`curl`,text:H(e),how:``},{key:`cli`,name:`junctor`,text:n,how:``},...t,{key:`python`,name:`Python`,text:U(e),how:`python3 call.py`}]}var B=e=>`${e.origin}/mcp${e.server?`/s/${e.server}`:``}`,V=e=>({jsonrpc:`2.0`,id:1,method:`tools/call`,params:{name:e.name,arguments:e.args}}),H=e=>`curl -s ${e.origin}/mcp/request \\\n  -H "Authorization: Bearer $JUNCTOR_KEY" -H 'Content-Type: application/json' \\\n  -d ${R(JSON.stringify(V(e)))}`,U=e=>`import json
import os
import urllib.request

call = json.loads(${JSON.stringify(JSON.stringify(V(e)))})
request = urllib.request.Request(
    ${JSON.stringify(`${e.origin}/mcp/request`)},
    data=json.dumps(call).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["JUNCTOR_KEY"],
        "Content-Type": "application/json",
    },
)
with urllib.request.urlopen(request) as response:
    print(json.dumps(json.load(response), indent=2, ensure_ascii=False))`;function W(e){let t={tool:`CallTool(ctx, &mcp.CallToolParams{
		Name:      ${JSON.stringify(e.name)},
		Arguments: json.RawMessage(${JSON.stringify(JSON.stringify(e.args))}),
	})`,prompt:`GetPrompt(ctx, &mcp.GetPromptParams{
		Name:      ${JSON.stringify(e.name)},
		Arguments: map[string]string{${Object.entries(e.args??{}).map(([e,t])=>`${JSON.stringify(e)}: ${JSON.stringify(String(t))}`).join(`, `)}},
	})`,resource:`ReadResource(ctx, &mcp.ReadResourceParams{URI: ${JSON.stringify(e.name)}})`};return`package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer adds the key to each request.
type bearer string

func (key bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(r)
}

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:   ${JSON.stringify(B(e))},
		HTTPClient: &http.Client{Transport: bearer(os.Getenv("JUNCTOR_KEY"))},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.${t[e.kind]}
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	session.Close()
}`}var G=e=>JSON.stringify(e,null,2).replaceAll(`
`,`
  `);function K(e){let t={tool:`callTool({
  name: ${JSON.stringify(e.name)},
  arguments: ${G(e.args)},
})`,prompt:`getPrompt({
  name: ${JSON.stringify(e.name)},
  arguments: ${G(e.args)},
})`,resource:`readResource({ uri: ${JSON.stringify(e.name)} })`};return`import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const transport = new StreamableHTTPClientTransport(new URL(${JSON.stringify(B(e))}), {
  requestInit: { headers: { Authorization: \`Bearer \${process.env.JUNCTOR_KEY}\` } },
});
const client = new Client({ name: 'example', version: '1' });
await client.connect(transport);
const result = await client.${t[e.kind]};
console.log(JSON.stringify(result, null, 2));
await client.close();`}var q=p();function J({of:e,value:i,load:a}){let[o,s]=y(localStorage,`junctor-saved ${e}`,{}),[c,{toggle:l,close:u}]=r(),[d,f]=(0,L.useState)(``),p=Object.keys(o),m=e=>{let{[e]:t,...n}=o;s(n)};return(0,q.jsxs)(x,{opened:c,onChange:u,position:`bottom-end`,width:`18rem`,trapFocus:!0,returnFocus:!0,children:[(0,q.jsx)(x.Target,{children:(0,q.jsx)(n,{"aria-label":`Saved examples${p.length?`: ${p.length}`:``}`,onClick:l,children:(0,q.jsx)(M,{size:15,fill:p.length?`currentColor`:`none`})})}),(0,q.jsx)(x.Dropdown,{p:`xs`,"aria-label":`Saved examples`,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsxs)(`form`,{className:`row plain`,onSubmit:e=>{e.preventDefault(),s({...o,[d||`Example ${p.length+1}`]:i}),f(``)},children:[(0,q.jsx)(S,{size:`xs`,className:`grow`,placeholder:`Example ${p.length+1}`,"aria-label":`Name of the example`,value:d,onChange:e=>f(e.currentTarget.value)}),(0,q.jsx)(t,{size:`xs`,type:`submit`,children:`Save`})]}),p.length===0&&(0,q.jsx)(`p`,{className:`small soft`,children:`Save these arguments in this browser to use them again.`}),p.map(e=>(0,q.jsxs)(`div`,{className:`row plain`,children:[(0,q.jsxs)(`button`,{type:`button`,className:`plainly grow`,onClick:()=>{a(o[e]),u()},children:[(0,q.jsx)(`span`,{className:`small cut`,style:{display:`block`,fontWeight:550},children:e}),(0,q.jsx)(`span`,{className:`tiny soft mono cut`,style:{display:`block`},children:JSON.stringify(o[e])})]}),(0,q.jsx)(n,{size:`sm`,"aria-label":`Delete ${e}`,onClick:()=>m(e),children:(0,q.jsx)(C,{size:13})})]},e))]})})]})}function Y({target:e}){let r=w(e),s=A(r),d=T(),[f,p]=y(sessionStorage,E(e),null),[m,h]=b(`as`,`both`),[x,S]=y(sessionStorage,`junctor-arguments-folded`,!1),C=(0,L.useId)(),j=f?.text??JSON.stringify(g(e.schema)??{},null,2),{value:M,problem:N}=(0,L.useMemo)(()=>Z(j),[j]),F=(0,L.useRef)({});N||(F.current=M);let R=(0,L.useMemo)(()=>N?[]:v(M,e.schema),[M,N,e.schema]),z=!N&&R.length===0,B=()=>{z&&!s.busy&&O(e,M,d)};return(0,q.jsxs)(i,{title:(0,q.jsxs)(`button`,{type:`button`,className:`plainly row plain`,"aria-expanded":!x,"aria-controls":C,onClick:()=>S(!x),children:[x?(0,q.jsx)(I,{size:15,"aria-hidden":!0}):(0,q.jsx)(P,{size:15,"aria-hidden":!0}),e.kind===`resource`?`Address`:`Arguments`]}),acts:(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(J,{of:r,value:F.current,load:e=>p({text:JSON.stringify(e,null,2)})}),(0,q.jsx)(n,{"aria-label":`Reset arguments`,onClick:()=>p(null),children:(0,q.jsx)(l,{size:15})}),(0,q.jsx)(a,{size:`xs`,"aria-label":`Input mode`,value:m,onChange:h,data:[{value:`form`,label:`Form`},{value:`both`,label:`Both`},{value:`json`,label:`JSON`}]})]}),pad:!0,children:[(0,q.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),B()},onKeyDown:e=>{e.key===`Enter`&&(e.ctrlKey||e.metaKey)&&(e.preventDefault(),B())},children:[x?(0,q.jsx)(`code`,{className:`small soft cut`,children:JSON.stringify(M)}):(0,q.jsxs)(`div`,{id:C,className:`stack`,children:[m!==`json`&&(0,q.jsxs)(`fieldset`,{className:`bare`,disabled:!!N,children:[(0,q.jsx)(_,{schema:e.schema,value:F.current,wrong:R,change:e=>p({text:JSON.stringify(e,null,2)})}),N&&(0,q.jsx)(`p`,{className:`small soft`,children:`Invalid JSON. Fix it to use the form.`})]}),m!==`form`&&(0,q.jsxs)(`div`,{className:`editor stack tight`,children:[(0,q.jsx)(o,{"aria-label":`Arguments as JSON`,autosize:!0,minRows:5,maxRows:24,spellCheck:!1,value:j,error:N,onChange:e=>p({text:e.currentTarget.value})}),(0,q.jsx)(X,{wrong:R})]})]}),(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(t,{type:`submit`,leftSection:(0,q.jsx)(c,{size:15}),disabled:!z||s.busy,title:`Ctrl+Enter`,children:`Run`}),s.busy&&(0,q.jsx)(t,{variant:`default`,color:`red`,leftSection:(0,q.jsx)(u,{size:13}),onClick:k,children:`Cancel`}),!z&&!N&&(0,q.jsx)(`span`,{className:`small soft`,children:Q(R)}),e.kind===`resource`&&z&&(0,q.jsx)(`code`,{className:`small soft wrap`,children:D(e.name,M)})]})]}),(0,q.jsx)($,{target:e,args:M})]})}function X({wrong:e}){return e.length===0?null:(0,q.jsx)(`ul`,{className:`small`,style:{margin:0,paddingLeft:`1.125rem`,color:`var(--bad)`},children:e.slice(0,8).map((e,t)=>(0,q.jsxs)(`li`,{children:[(0,q.jsx)(`code`,{children:e.pointer||`/`}),` `,e.message]},t))})}function Z(e){try{return{value:e.trim()===``?{}:JSON.parse(e)}}catch(e){return{value:{},problem:e.message}}}var Q=e=>{let t=e[0];return t?`${t.pointer.slice(1)||`The value`} ${t.message}${e.length>1?`, and ${e.length-1} more`:``}.`:``};function $({target:t,args:n}){let[r,i]=y(localStorage,`junctor-language`,`curl`),a=t.kind===`resource`?D(t.name,n??{}):t.name,o=z({origin:m(),kind:t.kind,server:t.server,name:a,args:n}),s=o.find(e=>e.key===r)??o[0];return(0,q.jsxs)(`details`,{style:{marginTop:`0.875rem`},children:[(0,q.jsx)(`summary`,{className:`small soft`,children:`Code snippets`}),(0,q.jsxs)(`div`,{className:`stack`,style:{marginTop:`0.5rem`},children:[(0,q.jsx)(e,{label:`Language`,now:s?.key??``,choose:i,tabs:o.map(e=>[e.key,e.name])}),s&&(0,q.jsx)(h,{label:`Copy the code`,children:s.text}),(0,q.jsxs)(`p`,{className:`tiny soft`,children:[`Set `,(0,q.jsx)(`code`,{children:`JUNCTOR_KEY`}),` to a key with the scope tools:call first.`,s?.how&&(0,q.jsxs)(q.Fragment,{children:[` `,`Run it: `,(0,q.jsx)(`code`,{children:s.how})]})]})]})]})}export{Y as t};