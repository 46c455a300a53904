import{P as e,c as t,g as n,i as r,l as i}from"./data-BJBXKqzD.js";import{I as a,L as o,N as s,P as c,R as l,a as u,c as d,dt as f,i as p,l as m,lt as h,m as g,n as _,p as v,t as y,u as b,y as x}from"./states-qRTI8wwD.js";import{t as S}from"./url-wvztM61B.js";import{t as C}from"./NativeSelect-D4XScmUj.js";import{t as w}from"./PasswordInput-BFOiaSCP.js";import{t as T}from"./useMutation-5j0SjE8j.js";import{a as E,n as D,t as O}from"./jsx-runtime-Wy9s6hX0.js";import{t as k}from"./instanceURL-CcA-2C8z.js";import{t as A}from"./Json-BUyOUtqf.js";import{n as j,t as M}from"./Egress-DhFsDGIi.js";import{t as N}from"./Checkbox-B8P8fkSD.js";import{t as P}from"./Textarea-Df_oeAhi.js";import{t as F}from"./download-Buo1mUmT.js";import{t as I}from"./save-CRiWdrRU.js";import{t as L}from"./Consent-D1lS7hDl.js";import{t as ee}from"./FilterInput-CUYDP3Ki.js";import{D as R,O as z,_ as B,k as V,n as H}from"./index-B4_tLnOQ.js";import{t as te}from"./KeyRows-mxUZRPaK.js";import{t as U}from"./NumberInput-BnNgZYfl.js";import{n as W,t as G}from"./useEdits-B8Wz6jg1.js";import{t as K}from"./key-round-DpRoJAR9.js";import{t as q}from"./ActionMenu-BN4Y09Tm.js";import{r as J}from"./History-DsXpXXK7.js";var Y=E(D(),1),X=O();function Z({me:e}){let t=h(),[n,r]=(0,Y.useState)(``),[i,a]=(0,Y.useState)(``),s=T({mutationFn:e=>o(`PUT`,`/me/sources`,{sources:e}),onSettled:()=>t.invalidateQueries()}),c=T({mutationFn:()=>o(`PUT`,`/me/password`,{password:i,...n?{current:n}:{}}),onSuccess:()=>{r(``),a(``)}});return(0,X.jsxs)(`div`,{className:`columns`,children:[(0,X.jsx)(m,{title:e.name||e.subject,pad:!0,children:(0,X.jsxs)(`div`,{className:`stack`,children:[(0,X.jsxs)(`dl`,{className:`facts`,children:[(0,X.jsx)(`dt`,{children:`Role`}),(0,X.jsx)(`dd`,{children:e.person?.role??`–`}),(0,X.jsx)(`dt`,{children:`Tenant`}),(0,X.jsx)(`dd`,{children:e.tenant}),(0,X.jsx)(`dt`,{children:`Scopes`}),(0,X.jsx)(`dd`,{className:`row`,children:e.scopes.map(e=>(0,X.jsx)(g,{children:e},e))}),(0,X.jsx)(`dt`,{children:`Tier`}),(0,X.jsx)(`dd`,{children:e.person?.tier??`–`})]}),e.person&&(0,X.jsx)(C,{label:`Tools at your default endpoint`,description:`In addition to built-in tools. Every server also has its own endpoint.`,value:e.person.sources,disabled:s.isPending,data:[{value:`both`,label:`All`},{value:`bring-your-own`,label:`Upstream servers`},{value:`auto-generated`,label:`Generated servers`}],onChange:e=>s.mutate(e.currentTarget.value)}),s.error&&(0,X.jsx)(_,{error:s.error})]})}),e.person&&(0,X.jsx)(m,{title:`Password`,pad:!0,children:(0,X.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),c.mutate()},children:[(0,X.jsx)(w,{label:`Current password`,description:`Leave empty if you have none.`,autoComplete:`current-password`,value:n,onChange:e=>r(e.currentTarget.value)}),(0,X.jsx)(w,{label:`New password`,description:`12 characters or more. Your other sessions end.`,autoComplete:`new-password`,value:i,onChange:e=>a(e.currentTarget.value)}),c.error&&(0,X.jsx)(_,{error:c.error}),(0,X.jsxs)(`div`,{className:`acts`,children:[(0,X.jsx)(f,{type:`submit`,disabled:[...i].length<12,loading:c.isPending,children:`Set password`}),c.isSuccess&&(0,X.jsx)(`span`,{className:`small soft`,children:`Password set.`})]})]})})]})}var Q=[{name:`claude-code`,title:`Claude Code`,files:{darwin:`~/.claude.json`,linux:`~/.claude.json`,windows:`%USERPROFILE%\\.claude.json`},project:`.mcp.json`,entry:`{
  "mcpServers": {
    "junctor": {
      "headers": {
        "Authorization": "Bearer YOUR-KEY"
      },
      "type": "http",
      "url": "http://junctor.invalid/mcp"
    }
  }
}
`},{name:`claude-desktop`,title:`Claude Desktop`,files:{darwin:`~/Library/Application Support/Claude/claude_desktop_config.json`,linux:`~/.config/Claude/claude_desktop_config.json`,windows:`%APPDATA%\\Claude\\claude_desktop_config.json`},entry:`{
  "mcpServers": {
    "junctor": {
      "args": [
        "stdio"
      ],
      "command": "junctor",
      "env": {
        "JUNCTOR_KEY": "YOUR-KEY"
      }
    }
  }
}
`},{name:`cursor`,title:`Cursor`,files:{darwin:`~/.cursor/mcp.json`,linux:`~/.cursor/mcp.json`,windows:`%USERPROFILE%\\.cursor\\mcp.json`},project:`.cursor/mcp.json`,entry:`{
  "mcpServers": {
    "junctor": {
      "headers": {
        "Authorization": "Bearer YOUR-KEY"
      },
      "url": "http://junctor.invalid/mcp"
    }
  }
}
`},{name:`vscode`,title:`VS Code`,files:{darwin:`~/Library/Application Support/Code/User/mcp.json`,linux:`~/.config/Code/User/mcp.json`,windows:`%APPDATA%\\Code\\User\\mcp.json`},project:`.vscode/mcp.json`,entry:`{
  "servers": {
    "junctor": {
      "headers": {
        "Authorization": "Bearer YOUR-KEY"
      },
      "type": "http",
      "url": "http://junctor.invalid/mcp"
    }
  }
}
`},{name:`gemini`,title:`Gemini CLI`,files:{darwin:`~/.gemini/settings.json`,linux:`~/.gemini/settings.json`,windows:`%USERPROFILE%\\.gemini\\settings.json`},project:`.gemini/settings.json`,entry:`{
  "mcpServers": {
    "junctor": {
      "headers": {
        "Authorization": "Bearer YOUR-KEY"
      },
      "httpUrl": "http://junctor.invalid/mcp"
    }
  }
}
`},{name:`windsurf`,title:`Windsurf`,files:{darwin:`~/.codeium/windsurf/mcp_config.json`,linux:`~/.codeium/windsurf/mcp_config.json`,windows:`%USERPROFILE%\\.codeium\\windsurf\\mcp_config.json`},entry:`{
  "mcpServers": {
    "junctor": {
      "headers": {
        "Authorization": "Bearer YOUR-KEY"
      },
      "serverUrl": "http://junctor.invalid/mcp"
    }
  }
}
`},{name:`codex`,title:`Codex`,files:{darwin:`~/.codex/config.toml`,linux:`~/.codex/config.toml`,windows:`%USERPROFILE%\\.codex\\config.toml`},project:`.codex/config.toml`,entry:`# Junctor: begin
[mcp_servers.junctor]
command = "junctor"
args = ["stdio"]
env = { JUNCTOR_KEY = "YOUR-KEY" }
# Junctor: end
`},{name:`zed`,title:`Zed`,files:{darwin:`~/.config/zed/settings.json`,linux:`~/.config/zed/settings.json`,windows:`%APPDATA%\\Zed\\settings.json`},project:`.zed/settings.json`,entry:`{
  "context_servers": {
    "junctor": {
      "headers": {
        "Authorization": "Bearer YOUR-KEY"
      },
      "url": "http://junctor.invalid/mcp"
    }
  }
}
`},{name:`cline`,title:`Cline`,files:{darwin:`~/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`,linux:`~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`,windows:`%APPDATA%\\Code\\User\\globalStorage\\saoudrizwan.claude-dev\\settings\\cline_mcp_settings.json`},entry:`{
  "mcpServers": {
    "junctor": {
      "headers": {
        "Authorization": "Bearer YOUR-KEY"
      },
      "type": "streamableHttp",
      "url": "http://junctor.invalid/mcp"
    }
  }
}
`},{name:`roo`,title:`Roo Code`,files:{darwin:`~/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json`,linux:`~/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json`,windows:`%APPDATA%\\Code\\User\\globalStorage\\rooveterinaryinc.roo-cline\\settings\\mcp_settings.json`},project:`.roo/mcp.json`,entry:`{
  "mcpServers": {
    "junctor": {
      "headers": {
        "Authorization": "Bearer YOUR-KEY"
      },
      "type": "streamable-http",
      "url": "http://junctor.invalid/mcp"
    }
  }
}
`},{name:`junie`,title:`JetBrains Junie`,files:{darwin:`~/.junie/mcp/mcp.json`,linux:`~/.junie/mcp/mcp.json`,windows:`%USERPROFILE%\\.junie\\mcp\\mcp.json`},project:`.junie/mcp/mcp.json`,entry:`{
  "mcpServers": {
    "junctor": {
      "args": [
        "stdio"
      ],
      "command": "junctor",
      "env": {
        "JUNCTOR_KEY": "YOUR-KEY"
      }
    }
  }
}
`},{name:`opencode`,title:`opencode`,files:{darwin:`~/.config/opencode/opencode.json`,linux:`~/.config/opencode/opencode.json`,windows:`%USERPROFILE%\\.config\\opencode\\opencode.json`},project:`opencode.json`,entry:`{
  "mcp": {
    "servers": {
      "junctor": {
        "headers": {
          "Authorization": "Bearer YOUR-KEY"
        },
        "type": "remote",
        "url": "http://junctor.invalid/mcp"
      }
    }
  }
}
`},{name:`amp`,title:`Amp`,files:{darwin:`~/.config/amp/settings.json`,linux:`~/.config/amp/settings.json`,windows:`%USERPROFILE%\\.config\\amp\\settings.json`},project:`.amp/settings.json`,entry:`{
  "amp.mcpServers": {
    "junctor": {
      "headers": {
        "Authorization": "Bearer YOUR-KEY"
      },
      "url": "http://junctor.invalid/mcp"
    }
  }
}
`},{name:`goose`,title:`Goose`,files:{darwin:`~/.config/goose/config.yaml`,linux:`~/.config/goose/config.yaml`,windows:`%APPDATA%\\Block\\goose\\config\\config.yaml`},entry:`extensions:
  junctor:
    enabled: true
    type: streamable_http
    name: junctor
    description: Junctor
    uri: "http://junctor.invalid/mcp"
    timeout: 300
    headers:
      Authorization: "Bearer YOUR-KEY"
`},{name:`continue`,title:`Continue`,files:{darwin:`~/.continue/config.yaml`,linux:`~/.continue/config.yaml`,windows:`%USERPROFILE%\\.continue\\config.yaml`},entry:`mcpServers:
  - name: junctor
    type: streamable-http
    url: "http://junctor.invalid/mcp"
    requestOptions:
      headers:
        Authorization: "Bearer YOUR-KEY"
`}],ne=[[`linux`,`Linux`],[`darwin`,`macOS`],[`windows`,`Windows`]];function re(){let[e,t]=S(`client`,Q[0]?.name??``),n=Q.find(t=>t.name===e)??Q[0];if(!n)return null;let r=n.entry.replaceAll(`http://junctor.invalid`,k()),i=r===n.entry,a=ne.map(([e,t])=>({title:t,file:n.files[e]})),o=a.every(({file:e})=>e===a[0]?.file);return(0,X.jsxs)(`div`,{className:`stack`,style:{gap:`1.125rem`},children:[(0,X.jsx)(m,{pad:!0,children:(0,X.jsx)(C,{label:`Client`,value:n.name,data:Q.map(e=>({value:e.name,label:e.title})),onChange:e=>t(e.currentTarget.value)})}),(0,X.jsxs)(`div`,{className:`columns`,children:[(0,X.jsx)(m,{title:`On the machine of this instance`,pad:!0,children:(0,X.jsxs)(`div`,{className:`stack`,children:[(0,X.jsxs)(`p`,{className:`soft`,children:[`One command puts Junctor into the configuration of `,n.title,`, with a key of its own, and keeps a copy of the file.`]}),(0,X.jsx)(A,{children:`junctor connect ${n.name}`}),(0,X.jsx)(`p`,{className:`soft`,children:`To connect it as an agent that has a few tools alone:`}),(0,X.jsx)(A,{children:`junctor connect ${n.name} --agent laptop --tool 'demo/*'`})]})}),(0,X.jsx)(m,{title:`By hand`,pad:!0,children:(0,X.jsxs)(`div`,{className:`stack`,children:[(0,X.jsx)(`p`,{className:`soft`,children:i?`${n.title} starts Junctor instead of using a URL, so this works on the machine of this instance. Create a key under “Keys”, and put it in place of YOUR-KEY.`:`On any machine that reaches this instance: create a key under “Keys”, and put it in place of YOUR-KEY.`}),(0,X.jsx)(A,{label:`Copy the entry`,children:r}),(0,X.jsxs)(`dl`,{className:`facts`,children:[o?(0,X.jsxs)(X.Fragment,{children:[(0,X.jsx)(`dt`,{children:`File`}),(0,X.jsx)(`dd`,{children:(0,X.jsx)(`code`,{className:`wrap`,children:a[0]?.file})})]}):a.map(({title:e,file:t})=>[(0,X.jsx)(`dt`,{children:e},`${e} name`),(0,X.jsx)(`dd`,{children:(0,X.jsx)(`code`,{className:`wrap`,children:t})},e)]),n.project&&(0,X.jsxs)(X.Fragment,{children:[(0,X.jsx)(`dt`,{children:`In a project`}),(0,X.jsx)(`dd`,{children:(0,X.jsx)(`code`,{className:`wrap`,children:n.project})})]})]})]})})]})]})}function ie(){let t=i().data;return(0,X.jsxs)(`div`,{className:`columns`,children:[(0,X.jsxs)(`div`,{className:`stack`,children:[(0,X.jsx)(ae,{}),(0,X.jsx)(oe,{})]}),e(t,`servers:write`)&&(0,X.jsx)(ce,{})]})}function ae(){let e=T({mutationFn:e=>s(`/export${a({format:e})}`),onSuccess:(e,t)=>I(`junctor-servers.${t}`,e.text,t===`json`?`application/json`:void 0)});return(0,X.jsx)(m,{title:`Export servers and agents`,pad:!0,children:(0,X.jsxs)(`div`,{className:`stack`,children:[(0,X.jsx)(`p`,{className:`soft`,children:`A stable file for a repository or another instance. It has no credentials: each is replaced by a variable.`}),(0,X.jsx)(`div`,{className:`acts`,children:[`yaml`,`json`].map(t=>(0,X.jsx)(f,{variant:`default`,leftSection:(0,X.jsx)(F,{size:14}),loading:e.isPending&&e.variables===t,onClick:()=>e.mutate(t),children:t.toUpperCase()},t))}),e.error&&(0,X.jsx)(_,{error:e.error}),e.data&&e.data.variables.length>0&&(0,X.jsxs)(`p`,{className:`small wrap`,children:[`Set these variables where you apply the file:`,` `,e.data.variables.map(e=>(0,X.jsxs)(`code`,{children:[e.name,` `]},e.name))]})]})})}function oe(){let e=n().data?.filter(e=>e.mode===`bring-your-own`)??[],t=r().data??[],[i,a]=(0,Y.useState)([]),o=T({mutationFn:()=>{let e=new URLSearchParams(i.map(e=>e.split(`/`,2)));return s(`/packs/export?${e}`)},onSuccess:e=>I(`pack.yaml`,e.text)}),c=[...e.map(e=>[`server`,e.id,e.title]),...t.map(e=>[`agent`,e.name,e.title])];return(0,X.jsx)(m,{title:`Create a pack`,pad:!0,children:(0,X.jsxs)(`div`,{className:`stack`,children:[(0,X.jsx)(`p`,{className:`soft`,children:`Select servers and agents to share. Each credential becomes a question. Check the file before you share it.`}),c.map(([e,t,n])=>{let r=`${e}/${t}`;return(0,X.jsx)(N,{label:`${n||t}${e===`agent`?` (agent)`:``}`,checked:i.includes(r),onChange:e=>a(e.currentTarget.checked?[...i,r]:i.filter(e=>e!==r))},r)}),c.length===0&&(0,X.jsx)(`p`,{className:`small soft`,children:`Add a server or an agent first.`}),(0,X.jsxs)(`div`,{className:`acts`,children:[(0,X.jsx)(f,{variant:`default`,leftSection:(0,X.jsx)(F,{size:14}),disabled:i.length===0,loading:o.isPending,onClick:()=>o.mutate(),children:`Create the pack`}),o.data&&(0,X.jsx)(`span`,{className:`small soft`,children:o.data.questions.length===0?`The pack asks no questions.`:`The pack asks for ${o.data.questions.map(e=>e.name).join(`, `)}.`})]}),o.error&&(0,X.jsx)(_,{error:o.error})]})})}var se={add:[`add`,`good`],change:[`change`,`act`],remove:[`remove`,`bad`],conflict:[`conflict`,`warn`]};function ce(){let e=h(),[t,n]=(0,Y.useState)(``),[r,i]=(0,Y.useState)(!1),[a,s]=(0,Y.useState)({}),c=T({mutationFn:e=>o(`POST`,`/apply`,{file:t,prune:r,dry_run:e}),onSuccess:(t,n)=>{n||e.invalidateQueries()}}),l=()=>{c.reset(),s({})},u=c.data?.changes,d=u!==void 0&&c.variables,p=d?u.filter(e=>e.command&&e.command.length>0):[];return(0,X.jsx)(m,{title:`Apply a file`,pad:!0,children:(0,X.jsxs)(`div`,{className:`stack editor`,children:[(0,X.jsx)(P,{label:`Settings file`,description:`The servers and agents of a settings file. You see the changes before you apply them.`,autosize:!0,minRows:8,maxRows:20,placeholder:`servers:
  notes:
    url: https://notes.example.com/mcp`,value:t,onChange:e=>{n(e.currentTarget.value),l()}}),(0,X.jsx)(`input`,{type:`file`,accept:`.yaml,.yml,.json`,"aria-label":`Choose a file`,onChange:e=>e.currentTarget.files?.[0]?.text().then(e=>{n(e),l()})}),(0,X.jsx)(N,{label:`Remove servers and agents that are not in the file`,checked:r,onChange:e=>{i(e.currentTarget.checked),l()}}),c.error&&(0,X.jsx)(_,{error:c.error}),u&&(0,X.jsxs)(`ul`,{className:`stack tight`,style:{margin:0,padding:0,listStyle:`none`},"aria-label":`Changes`,children:[u.length===0&&(0,X.jsx)(`li`,{className:`soft`,children:`The instance matches the file.`}),u.map(e=>(0,X.jsx)(le,{c:e},`${e.kind}/${e.id}`))]}),p.map(e=>(0,X.jsx)(L,{words:e.command??[],checked:a[e.id]??!1,setChecked:t=>s({...a,[e.id]:t})},e.id)),(0,X.jsxs)(`div`,{className:`acts`,children:[(0,X.jsx)(f,{variant:d&&u.length>0?`default`:`filled`,disabled:!t.trim(),loading:c.isPending&&c.variables,onClick:()=>c.mutate(!0),children:`Show changes`}),(0,X.jsx)(f,{disabled:!d||u.length===0||!p.every(e=>a[e.id]),loading:c.isPending&&!c.variables,onClick:()=>c.mutate(!1),children:`Apply`})]})]})})}function le({c:e}){let[t,n]=se[e.action];return(0,X.jsxs)(`li`,{children:[(0,X.jsxs)(`span`,{className:`row`,children:[(0,X.jsx)(g,{tone:e.error?`bad`:n,children:e.done?`done`:t}),` `,e.kind,` `,(0,X.jsx)(`b`,{children:e.id}),e.where&&(0,X.jsx)(`span`,{className:`tiny soft`,children:e.where})]}),e.error&&(0,X.jsx)(`span`,{className:`small wrap`,children:e.error}),e.fields?.map(e=>(0,X.jsxs)(`span`,{className:`tiny soft wrap`,style:{display:`block`},children:[(0,X.jsx)(`code`,{children:e.field}),`: `,e.from||`(none)`,` → `,e.to||`(none)`]},e.field))]})}function ue(){let e=j(),t=l({queryKey:[`settings`,`file`],queryFn:({signal:e})=>s(`/settings/file`,e)}),[n,r]=S(`q`);return(0,X.jsxs)(m,{title:`Settings of this instance`,acts:(0,X.jsx)(ee,{label:`Filter settings`,placeholder:`Filter`,small:!0,value:n,change:r}),children:[(0,X.jsx)(p,{query:e,rows:8,children:e=>(0,X.jsx)(b,{label:`Settings`,children:(0,X.jsxs)(`table`,{className:`list`,children:[(0,X.jsx)(`thead`,{children:(0,X.jsxs)(`tr`,{children:[(0,X.jsx)(`th`,{children:`Setting`}),(0,X.jsx)(`th`,{children:`Value`}),(0,X.jsx)(`th`,{children:`Source`})]})}),(0,X.jsx)(`tbody`,{children:e.filter(e=>H(n,e.name,e.value)).map(e=>(0,X.jsxs)(`tr`,{children:[(0,X.jsxs)(`td`,{className:`mono`,children:[`--`,e.name]}),(0,X.jsx)(`td`,{className:`mono cut`,children:e.value||(0,X.jsx)(`span`,{className:`soft`,children:`–`})}),(0,X.jsx)(`td`,{children:(0,X.jsx)(g,{tone:e.source==="default"?``:`act`,children:e.source})})]},e.name))})]})})}),(0,X.jsxs)(`div`,{className:`pad stack tight small`,children:[(0,X.jsx)(`p`,{className:`soft`,children:`Set them with flags, in the environment or in the settings file. Changes take effect after a restart.`}),t.data?.path&&(0,X.jsxs)(`p`,{children:[(0,X.jsx)(`code`,{className:`wrap`,children:t.data.path}),` `,t.data.ok?(0,X.jsx)(g,{tone:`good`,children:`applied`}):(0,X.jsx)(g,{tone:`bad`,children:`not applied`}),` `,t.data.loaded_at&&(0,X.jsxs)(`span`,{className:`soft`,children:[`read `,(0,X.jsx)(u,{at:t.data.loaded_at})]})]}),t.data?.problems?.map(e=>(0,X.jsxs)(`p`,{className:`wrap`,children:[(0,X.jsx)(`code`,{children:e.where}),` `,e.message]},`${e.where}${e.message}`)),t.data?.restart&&t.data.restart.length>0&&(0,X.jsxs)(`p`,{children:[`Applied after a restart: `,t.data.restart.join(`, `)]})]})]})}function de(){let e=t();return(0,X.jsx)(m,{children:(0,X.jsx)(p,{query:e,children:e=>(0,X.jsx)(te,{keys:e})})})}function fe(){let t=i().data,n=l({queryKey:[`limits`],queryFn:({signal:e})=>s(`/limits`,e)}),[r,a]=(0,Y.useState)(null),o=e(t,`admin`);return(0,X.jsxs)(m,{title:`Limits of tiers and tools`,acts:o&&(0,X.jsx)(f,{size:`compact-sm`,variant:`default`,leftSection:(0,X.jsx)(B,{size:13}),onClick:()=>a({name:``,fresh:!0}),children:`Add`}),children:[(0,X.jsx)(p,{query:n,children:e=>(0,X.jsx)(b,{label:`Limits`,children:(0,X.jsxs)(`table`,{className:`list`,children:[(0,X.jsx)(`thead`,{children:(0,X.jsxs)(`tr`,{children:[(0,X.jsx)(`th`,{children:`Tier or tool`}),(0,X.jsx)(`th`,{className:`right`,children:`Per second`}),(0,X.jsx)(`th`,{className:`right wide`,children:`Burst`}),(0,X.jsx)(`th`,{className:`right`,children:`Per day`}),(0,X.jsx)(`th`,{className:`right wide`,children:`Concurrent`}),(0,X.jsx)(`th`,{className:`wide`,children:`Over the limit`}),(0,X.jsx)(`th`,{})]})}),(0,X.jsx)(`tbody`,{children:[...Object.entries(e.tiers??{}),...Object.entries(e.tools??{})].map(([e,t])=>(0,X.jsxs)(`tr`,{children:[(0,X.jsx)(`td`,{className:e.includes(`/`)?`mono`:``,style:{fontWeight:550},children:e}),(0,X.jsx)(`td`,{className:`right num`,children:t.per_second??`–`}),(0,X.jsx)(`td`,{className:`right num wide`,children:t.burst??`–`}),(0,X.jsx)(`td`,{className:`right num`,children:t.per_day?x(t.per_day):`–`}),(0,X.jsx)(`td`,{className:`right num wide`,children:t.concurrent??`–`}),(0,X.jsx)(`td`,{className:`wide soft`,children:t.over_limit===`queue`?`wait`:`refuse`}),(0,X.jsx)(`td`,{className:`right`,children:o&&(0,X.jsx)(f,{size:`compact-xs`,variant:`subtle`,onClick:()=>a({name:e,fresh:!1}),children:`Edit`})})]},e))})]})})}),(0,X.jsx)(z,{opened:r!==null,onClose:()=>a(null),title:r?.fresh?`Add a limit`:r?.name,children:r&&n.data&&(0,X.jsx)(pe,{...r,policy:n.data,close:()=>a(null)},r.name)})]})}function pe({name:e,fresh:t,policy:n,close:r}){let i=h(),[a,s]=(0,Y.useState)(e),c=t=>({...t.tiers?.[e]??t.tools?.[e]}),l=G(n,c),u=l.fields,d={onSuccess:r,onSettled:()=>i.invalidateQueries({queryKey:[`limits`]})},p=W({of:l,fieldsOf:c,request:()=>[`PATCH`,`/limits`],bodyOf:e=>({[a.includes(`/`)?`tools`:`tiers`]:{[a]:e}}),done:()=>(r(),i.invalidateQueries({queryKey:[`limits`]}))}),m=T({mutationFn:()=>o(`PATCH`,`/limits`,{remove:[e]}),...d}),g=(e,t)=>(0,X.jsx)(U,{label:t,min:0,hideControls:!0,value:u[e]??``,onChange:t=>l.edit({[e]:t===``?void 0:Number(t)})});return(0,X.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),p.save()},children:[t&&(0,X.jsx)(R,{label:`Tier, or server/tool`,value:a,"data-autofocus":!0,onChange:e=>s(e.currentTarget.value)}),g(`per_second`,`Calls per second`),g(`burst`,`Burst`),g(`per_day`,`Calls per day`),g(`concurrent`,`Concurrent calls`),(0,X.jsx)(C,{label:`Over the limit`,value:u.over_limit??`reject`,data:[{value:`reject`,label:`refuse the call`},{value:`queue`,label:`queue the call`}],onChange:e=>l.edit({over_limit:e.currentTarget.value})}),p.error??m.error?(0,X.jsx)(_,{error:p.error??m.error}):null,p.dialog,(0,X.jsxs)(`div`,{className:`acts`,children:[(0,X.jsx)(f,{type:`submit`,disabled:!a,loading:p.busy,children:`Save`}),!t&&(0,X.jsx)(f,{variant:`light`,color:`red`,loading:m.isPending,onClick:()=>m.mutate(),children:`Remove`})]})]})}function me(){let t=i().data,n=l({queryKey:[`secrets`],queryFn:({signal:e})=>c(`/secrets`,e),select:e=>e.items}),r=h(),[a,s]=(0,Y.useState)(null),[d,g]=(0,Y.useState)(``),v=T({mutationFn:()=>o(`POST`,`/secrets/rotate`)}),b={onSuccess:()=>{s(null),g(``)},onSettled:()=>r.invalidateQueries({queryKey:[`secrets`]})},x=e=>`/secrets/${encodeURIComponent(e.owner)}/${encodeURIComponent(e.name)}`,S=T({mutationFn:e=>o(`PUT`,x(e),{value:d}),...b}),C=T({mutationFn:e=>o(`DELETE`,x(e)),...b});return(0,X.jsxs)(m,{title:`Stored secrets`,acts:e(t,`admin`)&&t?.tenant==="default"&&(0,X.jsx)(f,{size:`compact-sm`,variant:`default`,loading:v.isPending,onClick:()=>v.mutate(),children:`Replace the sealing key`}),children:[v.error&&(0,X.jsx)(`div`,{className:`pad`,children:(0,X.jsx)(_,{error:v.error})}),v.data&&(0,X.jsxs)(`div`,{className:`pad stack tight small`,role:`status`,children:[(0,X.jsxs)(`p`,{children:[v.data.rewrapped,` secrets now use the new sealing key `,(0,X.jsx)(`code`,{children:v.data.key_id}),`. Keep a copy of the key file apart from your backups.`]}),(v.data.broken??0)>0&&(0,X.jsxs)(`p`,{children:[v.data.broken,` secrets cannot be decrypted with any sealing key. Enter them again.`]}),v.data.unused&&v.data.unused.length>0&&(0,X.jsxs)(`p`,{children:[`Remove `,v.data.unused.join(`, `),` from JUNCTOR_SEAL_KEY: no longer used.`]})]}),(0,X.jsx)(p,{query:n,children:e=>e.length===0?(0,X.jsx)(y,{icon:(0,X.jsx)(K,{size:28,strokeWidth:1.5,"aria-hidden":!0}),title:`No secrets`,children:`Enter the credentials of a server on its page. They are never shown again.`}):(0,X.jsx)(`div`,{className:`rows`,children:e.map(e=>(0,X.jsxs)(`div`,{children:[(0,X.jsxs)(`span`,{className:`grow mono cut`,children:[e.owner,`/`,e.name]}),(0,X.jsxs)(`span`,{className:`small soft`,children:[`set `,(0,X.jsx)(u,{at:e.updated_at})]}),(0,X.jsx)(f,{size:`compact-xs`,variant:`subtle`,onClick:()=>s({owner:e.owner,name:e.name}),children:`Replace`})]},`${e.owner}/${e.name}`))})}),(0,X.jsx)(z,{opened:a!==null,onClose:()=>s(null),title:a?`${a.owner}/${a.name}`:``,children:a&&(0,X.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),d&&S.mutate(a)},children:[(0,X.jsx)(w,{label:`New value`,description:`Stored encrypted and never shown again.`,autoComplete:`off`,"data-autofocus":!0,value:d,onChange:e=>g(e.currentTarget.value)}),(S.error??C.error)&&(0,X.jsx)(_,{error:S.error??C.error}),(0,X.jsxs)(`div`,{className:`acts`,children:[(0,X.jsx)(f,{type:`submit`,disabled:!d,loading:S.isPending,children:`Replace`}),(0,X.jsx)(f,{variant:`light`,color:`red`,loading:C.isPending,onClick:()=>C.mutate(a),children:`Delete`})]})]})})]})}var $=[`viewer`,`developer`,`admin`];function he(){let e=i().data,t=h(),n=l({queryKey:[`users`],queryFn:({signal:e})=>c(`/users`,e),select:e=>e.items}),r=l({queryKey:[`limits`],queryFn:({signal:e})=>s(`/limits`,e)}),[a,d]=(0,Y.useState)(``),[v,b]=(0,Y.useState)(`viewer`),[x,S]=(0,Y.useState)(null),[w,E]=(0,Y.useState)(null),D={onSettled:()=>t.invalidateQueries({queryKey:[`users`]})},O=T({mutationFn:()=>o(`POST`,`/users`,{name:a,role:v}),onSuccess:()=>d(``),...D}),k=T({mutationFn:e=>o(`PATCH`,`/users/${e.id}`,e.body),...D}),j=T({mutationFn:e=>o(`POST`,`/users/${e}/link`),onSuccess:E}),M=O.error??k.error??j.error;return(0,X.jsxs)(m,{children:[(0,X.jsxs)(`form`,{className:`pad row`,style:{borderBottom:`1px solid var(--line-soft)`},onSubmit:e=>{e.preventDefault(),a&&O.mutate()},children:[(0,X.jsx)(R,{className:`grow`,style:{minWidth:`12rem`},placeholder:`name@example.com`,"aria-label":`Name`,value:a,onChange:e=>d(e.currentTarget.value)}),(0,X.jsx)(C,{"aria-label":`Role`,value:v,data:$,onChange:e=>b(e.currentTarget.value)}),(0,X.jsx)(f,{type:`submit`,disabled:!a,loading:O.isPending,leftSection:(0,X.jsx)(B,{size:15}),children:`Add a user`})]}),M&&(0,X.jsx)(`div`,{className:`pad`,children:(0,X.jsx)(_,{error:M})}),(0,X.jsx)(p,{query:n,children:t=>t.length===0?(0,X.jsx)(y,{title:`No users yet`}):(0,X.jsx)(`div`,{className:`rows`,children:t.map(t=>(0,X.jsxs)(`div`,{children:[(0,X.jsxs)(`span`,{className:`grow row`,children:[(0,X.jsx)(`b`,{className:`cut`,children:t.name}),` `,t.disabled&&(0,X.jsx)(g,{tone:`warn`,children:`off`}),` `,t.id===e?.user&&(0,X.jsx)(g,{tone:`act`,children:`you`})]}),(0,X.jsx)(C,{size:`xs`,className:`wide`,"aria-label":`Tier of ${t.name}`,value:t.tier,data:[...new Set([t.tier,...Object.keys(r.data?.tiers??{})])],onChange:e=>k.mutate({id:t.id,body:{tier:e.currentTarget.value}})}),(0,X.jsxs)(`span`,{className:`small soft wide`,children:[`added `,(0,X.jsx)(u,{at:t.created_at})]}),(0,X.jsx)(C,{size:`xs`,"aria-label":`Role of ${t.name}`,value:t.role,data:$,onChange:e=>k.mutate({id:t.id,body:{role:e.currentTarget.value}})}),(0,X.jsxs)(q,{label:`Actions for ${t.name}`,children:[(0,X.jsx)(V.Item,{onClick:()=>j.mutate(t.id),children:`Create a sign-in link`}),(0,X.jsx)(V.Item,{onClick:()=>k.mutate({id:t.id,body:{disabled:!t.disabled}}),children:t.disabled?`Enable the user`:`Disable the user`}),(0,X.jsx)(V.Item,{onClick:()=>S(t),children:`History`})]})]},t.id))})}),x&&(0,X.jsx)(J,{object:`user`,id:x.id,name:x.name,close:()=>S(null)}),(0,X.jsx)(z,{opened:w!==null,onClose:()=>E(null),title:`One-time sign-in link`,size:`lg`,children:w&&(0,X.jsxs)(`div`,{className:`stack`,children:[(0,X.jsxs)(`p`,{className:`soft`,children:[`Anyone with this link can sign in once. It expires `,(0,X.jsx)(u,{at:w.expires_at}),`.`]}),(0,X.jsx)(A,{label:`Copy the link`,children:w.url})]})})]})}function ge(){let t=i().data,[n,r]=S(`tab`,`you`),a=e(t,`admin`),o=[[`you`,`Account`],[`connect`,`Connect a client`]];e(t,`keys:write`)&&o.push([`keys`,`Keys`]),a&&o.push([`users`,`Users`]),o.push([`limits`,`Limits`]),e(t,`servers:write`)&&o.push([`secrets`,`Secrets`]),e(t,`tools:read`)&&o.push([`files`,`Import and export`]),a&&t?.tenant==="default"&&o.push([`egress`,`Egress`],[`instance`,`Instance`]);let s=o.some(([e])=>e===n)?n:`you`;return(0,X.jsxs)(X.Fragment,{children:[(0,X.jsx)(d,{title:`Settings`}),(0,X.jsx)(v,{label:`Settings`,now:s,choose:r,tabs:o}),s===`you`&&t&&(0,X.jsx)(Z,{me:t}),s===`connect`&&(0,X.jsx)(re,{}),s===`keys`&&(0,X.jsx)(de,{}),s===`users`&&a&&(0,X.jsx)(he,{}),s===`limits`&&(0,X.jsx)(fe,{}),s===`secrets`&&(0,X.jsx)(me,{}),s===`files`&&(0,X.jsx)(ie,{}),s===`egress`&&(0,X.jsx)(M,{}),s===`instance`&&(0,X.jsx)(ue,{})]})}export{ge as default};