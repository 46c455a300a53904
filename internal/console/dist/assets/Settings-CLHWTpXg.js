import{J as e,M as t,T as n,X as r,Y as i,b as a,f as o,n as s,r as c,w as l}from"./index-It6uTbgU.js";import{F as u,I as d,L as f,M as p,N as m,a as h,c as g,ct as _,i as v,l as y,m as b,n as x,p as S,t as C,u as w,ut as T,v as E}from"./states-CplYtjCW.js";import{t as D}from"./url-DpnZHT33.js";import{t as O}from"./NativeSelect-DdW-NyLe.js";import{t as k}from"./PasswordInput-xIMbt9-s.js";import{t as A}from"./useMutation-CiVJ7kd8.js";import{a as j,n as M,t as N}from"./jsx-runtime-Wy9s6hX0.js";import{t as P}from"./instanceURL-CcA-2C8z.js";import{t as F}from"./Json-BqMEH4ls.js";import{t as I}from"./Checkbox-B9iZQd6i.js";import{t as L}from"./Textarea-EMYNd8ju.js";import{t as R}from"./download-DQqifEC6.js";import{t as z}from"./save-CRiWdrRU.js";import{t as B}from"./Consent-C4pqyzT8.js";import{t as V}from"./FilterInput-DJNH28h_.js";import{t as ee}from"./KeyRows-b90ZBbu3.js";import{t as te}from"./NumberInput-CfeY6jfu.js";import{n as H,t as U}from"./useEdits-KARRaupq.js";import{t as W}from"./key-round-CnlezLhv.js";import{t as G}from"./ActionMenu-C5q2icXn.js";var K=j(M(),1),q=N();function J({me:e}){let t=_(),[n,r]=(0,K.useState)(``),[i,a]=(0,K.useState)(``),o=A({mutationFn:e=>d(`PUT`,`/me/sources`,{sources:e}),onSettled:()=>t.invalidateQueries()}),s=A({mutationFn:()=>d(`PUT`,`/me/password`,{password:i,...n?{current:n}:{}}),onSuccess:()=>{r(``),a(``)}});return(0,q.jsxs)(`div`,{className:`columns`,children:[(0,q.jsx)(y,{title:e.name||e.subject,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsxs)(`dl`,{className:`facts`,children:[(0,q.jsx)(`dt`,{children:`Role`}),(0,q.jsx)(`dd`,{children:e.person?.role??`–`}),(0,q.jsx)(`dt`,{children:`Tenant`}),(0,q.jsx)(`dd`,{children:e.tenant}),(0,q.jsx)(`dt`,{children:`Scopes`}),(0,q.jsx)(`dd`,{className:`row`,children:e.scopes.map(e=>(0,q.jsx)(b,{children:e},e))}),(0,q.jsx)(`dt`,{children:`Tier`}),(0,q.jsx)(`dd`,{children:e.person?.tier??`–`})]}),e.person&&(0,q.jsx)(O,{label:`Tools at your default endpoint`,description:`In addition to built-in tools. Every server also has its own endpoint.`,value:e.person.sources,disabled:o.isPending,data:[{value:`both`,label:`All`},{value:`bring-your-own`,label:`Upstream servers`},{value:`auto-generated`,label:`Generated servers`}],onChange:e=>o.mutate(e.currentTarget.value)}),o.error&&(0,q.jsx)(x,{error:o.error})]})}),e.person&&(0,q.jsx)(y,{title:`Password`,pad:!0,children:(0,q.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),s.mutate()},children:[(0,q.jsx)(k,{label:`Current password`,description:`Leave empty if you have none.`,autoComplete:`current-password`,value:n,onChange:e=>r(e.currentTarget.value)}),(0,q.jsx)(k,{label:`New password`,description:`12 characters or more. Your other sessions end.`,autoComplete:`new-password`,value:i,onChange:e=>a(e.currentTarget.value)}),s.error&&(0,q.jsx)(x,{error:s.error}),(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(T,{type:`submit`,disabled:[...i].length<12,loading:s.isPending,children:`Set password`}),s.isSuccess&&(0,q.jsx)(`span`,{className:`small soft`,children:`Password set.`})]})]})})]})}var Y=[{name:`claude-code`,title:`Claude Code`,files:{darwin:`~/.claude.json`,linux:`~/.claude.json`,windows:`%USERPROFILE%\\.claude.json`},project:`.mcp.json`,entry:`{
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
`}],X=[[`linux`,`Linux`],[`darwin`,`macOS`],[`windows`,`Windows`]];function Z(){let[e,t]=D(`client`,Y[0]?.name??``),n=Y.find(t=>t.name===e)??Y[0];if(!n)return null;let r=n.entry.replaceAll(`http://junctor.invalid`,P()),i=r===n.entry,a=X.map(([e,t])=>({title:t,file:n.files[e]})),o=a.every(({file:e})=>e===a[0]?.file);return(0,q.jsxs)(`div`,{className:`stack`,style:{gap:`1.125rem`},children:[(0,q.jsx)(y,{pad:!0,children:(0,q.jsx)(O,{label:`Client`,value:n.name,data:Y.map(e=>({value:e.name,label:e.title})),onChange:e=>t(e.currentTarget.value)})}),(0,q.jsxs)(`div`,{className:`columns`,children:[(0,q.jsx)(y,{title:`On the machine of this instance`,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsxs)(`p`,{className:`soft`,children:[`One command puts Junctor into the configuration of `,n.title,`, with a key of its own, and keeps a copy of the file.`]}),(0,q.jsx)(F,{children:`junctor connect ${n.name}`}),(0,q.jsx)(`p`,{className:`soft`,children:`To connect it as an agent that has a few tools alone:`}),(0,q.jsx)(F,{children:`junctor connect ${n.name} --agent laptop --tool 'demo/*'`})]})}),(0,q.jsx)(y,{title:`By hand`,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsx)(`p`,{className:`soft`,children:i?`${n.title} starts Junctor instead of using a URL, so this works on the machine of this instance. Create a key under “Keys”, and put it in place of YOUR-KEY.`:`On any machine that reaches this instance: create a key under “Keys”, and put it in place of YOUR-KEY.`}),(0,q.jsx)(F,{label:`Copy the entry`,children:r}),(0,q.jsxs)(`dl`,{className:`facts`,children:[o?(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(`dt`,{children:`File`}),(0,q.jsx)(`dd`,{children:(0,q.jsx)(`code`,{className:`wrap`,children:a[0]?.file})})]}):a.map(({title:e,file:t})=>[(0,q.jsx)(`dt`,{children:e},`${e} name`),(0,q.jsx)(`dd`,{children:(0,q.jsx)(`code`,{className:`wrap`,children:t})},e)]),n.project&&(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(`dt`,{children:`In a project`}),(0,q.jsx)(`dd`,{children:(0,q.jsx)(`code`,{className:`wrap`,children:n.project})})]})]})]})})]})]})}var Q=()=>f({queryKey:[`settings`],queryFn:({signal:e})=>m(`/settings`,e),select:e=>e.items}),ne=[{name:`egress-allow`,title:`Private networks`,about:`Private networks that Junctor may connect to. Public addresses are always allowed.`,none:`none`,example:`10.20.0.0/16`},{name:`egress-proxy`,title:`Proxy`,about:`All outgoing connections use this proxy. Proxy variables of the environment are ignored.`,none:`none (direct connections)`,example:`http://proxy.example.com:3128`},{name:`allow-commands`,title:`Commands through the API`,about:`Whether admins may add commands through this page and the API. The operator can always add them on the command line.`,none:`false`,example:`true`}];function re(){let e=Q();return(0,q.jsx)(v,{query:e,children:e=>(0,q.jsxs)(`div`,{className:`stack`,children:[ne.map(t=>{let n=e.find(e=>e.name===t.name);return(0,q.jsx)(y,{title:t.title,acts:n&&(0,q.jsx)(b,{tone:n.source==="default"?``:`act`,children:n.source}),pad:!0,children:(0,q.jsxs)(`div`,{className:`stack tight`,children:[(0,q.jsx)(`p`,{className:`soft`,children:t.about}),(0,q.jsx)(`p`,{children:(0,q.jsx)(`code`,{className:`wrap`,children:n?.value||t.none})}),(0,q.jsxs)(`p`,{className:`small soft wrap`,children:[`To change it: `,(0,q.jsxs)(`code`,{children:[`--`,t.name]}),`, `,(0,q.jsxs)(`code`,{children:[`JUNCTOR_`,t.name.replaceAll(`-`,`_`).toUpperCase()]}),`, or in the settings file`,` `,(0,q.jsxs)(`code`,{children:[t.name.replaceAll(`-`,`_`),`: `,t.example]})]})]})},t.name)}),(0,q.jsx)(`p`,{className:`small soft`,children:`Changes take effect after a restart. This page cannot change them, so that a stolen login cannot open the network.`})]})})}function ie(){let e=n().data;return(0,q.jsxs)(`div`,{className:`columns`,children:[(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsx)(ae,{}),(0,q.jsx)(oe,{})]}),s(e,`servers:write`)&&(0,q.jsx)(ce,{})]})}function ae(){let e=A({mutationFn:e=>p(`/export${u({format:e})}`),onSuccess:(e,t)=>z(`junctor-servers.${t}`,e.text,t===`json`?`application/json`:void 0)});return(0,q.jsx)(y,{title:`Export servers and agents`,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsx)(`p`,{className:`soft`,children:`A stable file for a repository or another instance. It has no credentials: each is replaced by a variable.`}),(0,q.jsx)(`div`,{className:`acts`,children:[`yaml`,`json`].map(t=>(0,q.jsx)(T,{variant:`default`,leftSection:(0,q.jsx)(R,{size:14}),loading:e.isPending&&e.variables===t,onClick:()=>e.mutate(t),children:t.toUpperCase()},t))}),e.error&&(0,q.jsx)(x,{error:e.error}),e.data&&e.data.variables.length>0&&(0,q.jsxs)(`p`,{className:`small wrap`,children:[`Set these variables where you apply the file:`,` `,e.data.variables.map(e=>(0,q.jsxs)(`code`,{children:[e.name,` `]},e.name))]})]})})}function oe(){let e=t().data?.filter(e=>e.mode===`bring-your-own`)??[],n=a().data??[],[r,i]=(0,K.useState)([]),o=A({mutationFn:()=>{let e=new URLSearchParams(r.map(e=>e.split(`/`,2)));return p(`/packs/export?${e}`)},onSuccess:e=>z(`pack.yaml`,e.text)}),s=[...e.map(e=>[`server`,e.id,e.title]),...n.map(e=>[`agent`,e.name,e.title])];return(0,q.jsx)(y,{title:`Create a pack`,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsx)(`p`,{className:`soft`,children:`Select servers and agents to share. Each credential becomes a question. Check the file before you share it.`}),s.map(([e,t,n])=>{let a=`${e}/${t}`;return(0,q.jsx)(I,{label:`${n||t}${e===`agent`?` (agent)`:``}`,checked:r.includes(a),onChange:e=>i(e.currentTarget.checked?[...r,a]:r.filter(e=>e!==a))},a)}),s.length===0&&(0,q.jsx)(`p`,{className:`small soft`,children:`Add a server or an agent first.`}),(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(T,{variant:`default`,leftSection:(0,q.jsx)(R,{size:14}),disabled:r.length===0,loading:o.isPending,onClick:()=>o.mutate(),children:`Create the pack`}),o.data&&(0,q.jsx)(`span`,{className:`small soft`,children:o.data.questions.length===0?`The pack asks no questions.`:`The pack asks for ${o.data.questions.map(e=>e.name).join(`, `)}.`})]}),o.error&&(0,q.jsx)(x,{error:o.error})]})})}var se={add:[`add`,`good`],change:[`change`,`act`],remove:[`remove`,`bad`],conflict:[`conflict`,`warn`]};function ce(){let e=_(),[t,n]=(0,K.useState)(``),[r,i]=(0,K.useState)(!1),[a,o]=(0,K.useState)({}),s=A({mutationFn:e=>d(`POST`,`/apply`,{file:t,prune:r,dry_run:e}),onSuccess:(t,n)=>{n||e.invalidateQueries()}}),c=()=>{s.reset(),o({})},l=s.data?.changes,u=l!==void 0&&s.variables,f=u?l.filter(e=>e.command&&e.command.length>0):[];return(0,q.jsx)(y,{title:`Apply a file`,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack editor`,children:[(0,q.jsx)(L,{label:`Settings file`,description:`The servers and agents of a settings file. You see the changes before you apply them.`,autosize:!0,minRows:8,maxRows:20,placeholder:`servers:
  notes:
    url: https://notes.example.com/mcp`,value:t,onChange:e=>{n(e.currentTarget.value),c()}}),(0,q.jsx)(`input`,{type:`file`,accept:`.yaml,.yml,.json`,"aria-label":`Choose a file`,onChange:e=>e.currentTarget.files?.[0]?.text().then(e=>{n(e),c()})}),(0,q.jsx)(I,{label:`Remove servers and agents that are not in the file`,checked:r,onChange:e=>{i(e.currentTarget.checked),c()}}),s.error&&(0,q.jsx)(x,{error:s.error}),l&&(0,q.jsxs)(`ul`,{className:`stack tight`,style:{margin:0,padding:0,listStyle:`none`},"aria-label":`Changes`,children:[l.length===0&&(0,q.jsx)(`li`,{className:`soft`,children:`The instance matches the file.`}),l.map(e=>(0,q.jsx)(le,{c:e},`${e.kind}/${e.id}`))]}),f.map(e=>(0,q.jsx)(B,{words:e.command??[],checked:a[e.id]??!1,setChecked:t=>o({...a,[e.id]:t})},e.id)),(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(T,{variant:u&&l.length>0?`default`:`filled`,disabled:!t.trim(),loading:s.isPending&&s.variables,onClick:()=>s.mutate(!0),children:`Show changes`}),(0,q.jsx)(T,{disabled:!u||l.length===0||!f.every(e=>a[e.id]),loading:s.isPending&&!s.variables,onClick:()=>s.mutate(!1),children:`Apply`})]})]})})}function le({c:e}){let[t,n]=se[e.action];return(0,q.jsxs)(`li`,{children:[(0,q.jsxs)(`span`,{className:`row`,children:[(0,q.jsx)(b,{tone:e.error?`bad`:n,children:e.done?`done`:t}),` `,e.kind,` `,(0,q.jsx)(`b`,{children:e.id}),e.where&&(0,q.jsx)(`span`,{className:`tiny soft`,children:e.where})]}),e.error&&(0,q.jsx)(`span`,{className:`small wrap`,children:e.error}),e.fields?.map(e=>(0,q.jsxs)(`span`,{className:`tiny soft wrap`,style:{display:`block`},children:[(0,q.jsx)(`code`,{children:e.field}),`: `,e.from||`(none)`,` → `,e.to||`(none)`]},e.field))]})}function ue(){let e=Q(),t=f({queryKey:[`settings`,`file`],queryFn:({signal:e})=>p(`/settings/file`,e)}),[n,r]=D(`q`);return(0,q.jsxs)(y,{title:`Settings of this instance`,acts:(0,q.jsx)(V,{label:`Filter settings`,placeholder:`Filter`,small:!0,value:n,change:r}),children:[(0,q.jsx)(v,{query:e,rows:8,children:e=>(0,q.jsx)(w,{label:`Settings`,children:(0,q.jsxs)(`table`,{className:`list`,children:[(0,q.jsx)(`thead`,{children:(0,q.jsxs)(`tr`,{children:[(0,q.jsx)(`th`,{children:`Setting`}),(0,q.jsx)(`th`,{children:`Value`}),(0,q.jsx)(`th`,{children:`Source`})]})}),(0,q.jsx)(`tbody`,{children:e.filter(e=>c(n,e.name,e.value)).map(e=>(0,q.jsxs)(`tr`,{children:[(0,q.jsxs)(`td`,{className:`mono`,children:[`--`,e.name]}),(0,q.jsx)(`td`,{className:`mono cut`,children:e.value||(0,q.jsx)(`span`,{className:`soft`,children:`–`})}),(0,q.jsx)(`td`,{children:(0,q.jsx)(b,{tone:e.source==="default"?``:`act`,children:e.source})})]},e.name))})]})})}),(0,q.jsxs)(`div`,{className:`pad stack tight small`,children:[(0,q.jsx)(`p`,{className:`soft`,children:`Set them with flags, in the environment or in the settings file. Changes take effect after a restart.`}),t.data?.path&&(0,q.jsxs)(`p`,{children:[(0,q.jsx)(`code`,{className:`wrap`,children:t.data.path}),` `,t.data.ok?(0,q.jsx)(b,{tone:`good`,children:`applied`}):(0,q.jsx)(b,{tone:`bad`,children:`not applied`}),` `,t.data.loaded_at&&(0,q.jsxs)(`span`,{className:`soft`,children:[`read `,(0,q.jsx)(h,{at:t.data.loaded_at})]})]}),t.data?.problems?.map(e=>(0,q.jsxs)(`p`,{className:`wrap`,children:[(0,q.jsx)(`code`,{children:e.where}),` `,e.message]},`${e.where}${e.message}`)),t.data?.restart&&t.data.restart.length>0&&(0,q.jsxs)(`p`,{children:[`Applied after a restart: `,t.data.restart.join(`, `)]})]})]})}function de(){let e=l();return(0,q.jsx)(y,{children:(0,q.jsx)(v,{query:e,children:e=>(0,q.jsx)(ee,{keys:e})})})}function fe(){let e=n().data,t=f({queryKey:[`limits`],queryFn:({signal:e})=>p(`/limits`,e)}),[r,a]=(0,K.useState)(null),c=s(e,`admin`);return(0,q.jsxs)(y,{title:`Limits of tiers and tools`,acts:c&&(0,q.jsx)(T,{size:`compact-sm`,variant:`default`,leftSection:(0,q.jsx)(o,{size:13}),onClick:()=>a({name:``,fresh:!0}),children:`Add`}),children:[(0,q.jsx)(v,{query:t,children:e=>(0,q.jsx)(w,{label:`Limits`,children:(0,q.jsxs)(`table`,{className:`list`,children:[(0,q.jsx)(`thead`,{children:(0,q.jsxs)(`tr`,{children:[(0,q.jsx)(`th`,{children:`Tier or tool`}),(0,q.jsx)(`th`,{className:`right`,children:`Per second`}),(0,q.jsx)(`th`,{className:`right wide`,children:`Burst`}),(0,q.jsx)(`th`,{className:`right`,children:`Per day`}),(0,q.jsx)(`th`,{className:`right wide`,children:`Concurrent`}),(0,q.jsx)(`th`,{className:`wide`,children:`Over the limit`}),(0,q.jsx)(`th`,{})]})}),(0,q.jsx)(`tbody`,{children:[...Object.entries(e.tiers??{}),...Object.entries(e.tools??{})].map(([e,t])=>(0,q.jsxs)(`tr`,{children:[(0,q.jsx)(`td`,{className:e.includes(`/`)?`mono`:``,style:{fontWeight:550},children:e}),(0,q.jsx)(`td`,{className:`right num`,children:t.per_second??`–`}),(0,q.jsx)(`td`,{className:`right num wide`,children:t.burst??`–`}),(0,q.jsx)(`td`,{className:`right num`,children:t.per_day?E(t.per_day):`–`}),(0,q.jsx)(`td`,{className:`right num wide`,children:t.concurrent??`–`}),(0,q.jsx)(`td`,{className:`wide soft`,children:t.over_limit===`queue`?`wait`:`refuse`}),(0,q.jsx)(`td`,{className:`right`,children:c&&(0,q.jsx)(T,{size:`compact-xs`,variant:`subtle`,onClick:()=>a({name:e,fresh:!1}),children:`Edit`})})]},e))})]})})}),(0,q.jsx)(i,{opened:r!==null,onClose:()=>a(null),title:r?.fresh?`Add a limit`:r?.name,children:r&&t.data&&(0,q.jsx)(pe,{...r,policy:t.data,close:()=>a(null)},r.name)})]})}function pe({name:t,fresh:n,policy:r,close:i}){let a=_(),[o,s]=(0,K.useState)(t),c=e=>({...e.tiers?.[t]??e.tools?.[t]}),l=U(r,c),u=l.fields,f={onSuccess:i,onSettled:()=>a.invalidateQueries({queryKey:[`limits`]})},p=H({of:l,fieldsOf:c,request:()=>[`PATCH`,`/limits`],bodyOf:e=>({[o.includes(`/`)?`tools`:`tiers`]:{[o]:e}}),done:()=>(i(),a.invalidateQueries({queryKey:[`limits`]}))}),m=A({mutationFn:()=>d(`PATCH`,`/limits`,{remove:[t]}),...f}),h=(e,t)=>(0,q.jsx)(te,{label:t,min:0,hideControls:!0,value:u[e]??``,onChange:t=>l.edit({[e]:t===``?void 0:Number(t)})});return(0,q.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),p.save()},children:[n&&(0,q.jsx)(e,{label:`Tier, or server/tool`,value:o,"data-autofocus":!0,onChange:e=>s(e.currentTarget.value)}),h(`per_second`,`Calls per second`),h(`burst`,`Burst`),h(`per_day`,`Calls per day`),h(`concurrent`,`Concurrent calls`),(0,q.jsx)(O,{label:`Over the limit`,value:u.over_limit??`reject`,data:[{value:`reject`,label:`refuse the call`},{value:`queue`,label:`queue the call`}],onChange:e=>l.edit({over_limit:e.currentTarget.value})}),p.error??m.error?(0,q.jsx)(x,{error:p.error??m.error}):null,p.dialog,(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(T,{type:`submit`,disabled:!o,loading:p.busy,children:`Save`}),!n&&(0,q.jsx)(T,{variant:`light`,color:`red`,loading:m.isPending,onClick:()=>m.mutate(),children:`Remove`})]})]})}function me(){let e=n().data,t=f({queryKey:[`secrets`],queryFn:({signal:e})=>m(`/secrets`,e),select:e=>e.items}),r=_(),[a,o]=(0,K.useState)(null),[c,l]=(0,K.useState)(``),u=A({mutationFn:()=>d(`POST`,`/secrets/rotate`)}),p={onSuccess:()=>{o(null),l(``)},onSettled:()=>r.invalidateQueries({queryKey:[`secrets`]})},g=e=>`/secrets/${encodeURIComponent(e.owner)}/${encodeURIComponent(e.name)}`,b=A({mutationFn:e=>d(`PUT`,g(e),{value:c}),...p}),S=A({mutationFn:e=>d(`DELETE`,g(e)),...p});return(0,q.jsxs)(y,{title:`Stored secrets`,acts:s(e,`admin`)&&e?.tenant==="default"&&(0,q.jsx)(T,{size:`compact-sm`,variant:`default`,loading:u.isPending,onClick:()=>u.mutate(),children:`Replace the sealing key`}),children:[u.error&&(0,q.jsx)(`div`,{className:`pad`,children:(0,q.jsx)(x,{error:u.error})}),u.data&&(0,q.jsxs)(`div`,{className:`pad stack tight small`,role:`status`,children:[(0,q.jsxs)(`p`,{children:[u.data.rewrapped,` secrets now use the new sealing key `,(0,q.jsx)(`code`,{children:u.data.key_id}),`. Keep a copy of the key file apart from your backups.`]}),(u.data.broken??0)>0&&(0,q.jsxs)(`p`,{children:[u.data.broken,` secrets cannot be decrypted with any sealing key. Enter them again.`]}),u.data.unused&&u.data.unused.length>0&&(0,q.jsxs)(`p`,{children:[`Remove `,u.data.unused.join(`, `),` from JUNCTOR_SEAL_KEY: no longer used.`]})]}),(0,q.jsx)(v,{query:t,children:e=>e.length===0?(0,q.jsx)(C,{icon:(0,q.jsx)(W,{size:28,strokeWidth:1.5,"aria-hidden":!0}),title:`No secrets`,children:`Enter the credentials of a server on its page. They are never shown again.`}):(0,q.jsx)(`div`,{className:`rows`,children:e.map(e=>(0,q.jsxs)(`div`,{children:[(0,q.jsxs)(`span`,{className:`grow mono cut`,children:[e.owner,`/`,e.name]}),(0,q.jsxs)(`span`,{className:`small soft`,children:[`set `,(0,q.jsx)(h,{at:e.updated_at})]}),(0,q.jsx)(T,{size:`compact-xs`,variant:`subtle`,onClick:()=>o({owner:e.owner,name:e.name}),children:`Replace`})]},`${e.owner}/${e.name}`))})}),(0,q.jsx)(i,{opened:a!==null,onClose:()=>o(null),title:a?`${a.owner}/${a.name}`:``,children:a&&(0,q.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),c&&b.mutate(a)},children:[(0,q.jsx)(k,{label:`New value`,description:`Stored encrypted and never shown again.`,autoComplete:`off`,"data-autofocus":!0,value:c,onChange:e=>l(e.currentTarget.value)}),(b.error??S.error)&&(0,q.jsx)(x,{error:b.error??S.error}),(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(T,{type:`submit`,disabled:!c,loading:b.isPending,children:`Replace`}),(0,q.jsx)(T,{variant:`light`,color:`red`,loading:S.isPending,onClick:()=>S.mutate(a),children:`Delete`})]})]})})]})}var $=[`viewer`,`developer`,`admin`];function he(){let t=n().data,a=_(),s=f({queryKey:[`users`],queryFn:({signal:e})=>m(`/users`,e),select:e=>e.items}),c=f({queryKey:[`limits`],queryFn:({signal:e})=>p(`/limits`,e)}),[l,u]=(0,K.useState)(``),[g,S]=(0,K.useState)(`viewer`),[w,E]=(0,K.useState)(null),D={onSettled:()=>a.invalidateQueries({queryKey:[`users`]})},k=A({mutationFn:()=>d(`POST`,`/users`,{name:l,role:g}),onSuccess:()=>u(``),...D}),j=A({mutationFn:e=>d(`PATCH`,`/users/${e.id}`,e.body),...D}),M=A({mutationFn:e=>d(`POST`,`/users/${e}/link`),onSuccess:E}),N=k.error??j.error??M.error;return(0,q.jsxs)(y,{children:[(0,q.jsxs)(`form`,{className:`pad row`,style:{borderBottom:`1px solid var(--line-soft)`},onSubmit:e=>{e.preventDefault(),l&&k.mutate()},children:[(0,q.jsx)(e,{className:`grow`,style:{minWidth:`12rem`},placeholder:`name@example.com`,"aria-label":`Name`,value:l,onChange:e=>u(e.currentTarget.value)}),(0,q.jsx)(O,{"aria-label":`Role`,value:g,data:$,onChange:e=>S(e.currentTarget.value)}),(0,q.jsx)(T,{type:`submit`,disabled:!l,loading:k.isPending,leftSection:(0,q.jsx)(o,{size:15}),children:`Add a user`})]}),N&&(0,q.jsx)(`div`,{className:`pad`,children:(0,q.jsx)(x,{error:N})}),(0,q.jsx)(v,{query:s,children:e=>e.length===0?(0,q.jsx)(C,{title:`No users yet`}):(0,q.jsx)(`div`,{className:`rows`,children:e.map(e=>(0,q.jsxs)(`div`,{children:[(0,q.jsxs)(`span`,{className:`grow row`,children:[(0,q.jsx)(`b`,{className:`cut`,children:e.name}),` `,e.disabled&&(0,q.jsx)(b,{tone:`warn`,children:`off`}),` `,e.id===t?.user&&(0,q.jsx)(b,{tone:`act`,children:`you`})]}),(0,q.jsx)(O,{size:`xs`,className:`wide`,"aria-label":`Tier of ${e.name}`,value:e.tier,data:[...new Set([e.tier,...Object.keys(c.data?.tiers??{})])],onChange:t=>j.mutate({id:e.id,body:{tier:t.currentTarget.value}})}),(0,q.jsxs)(`span`,{className:`small soft wide`,children:[`added `,(0,q.jsx)(h,{at:e.created_at})]}),(0,q.jsx)(O,{size:`xs`,"aria-label":`Role of ${e.name}`,value:e.role,data:$,onChange:t=>j.mutate({id:e.id,body:{role:t.currentTarget.value}})}),(0,q.jsxs)(G,{label:`Actions for ${e.name}`,children:[(0,q.jsx)(r.Item,{onClick:()=>M.mutate(e.id),children:`Create a sign-in link`}),(0,q.jsx)(r.Item,{onClick:()=>j.mutate({id:e.id,body:{disabled:!e.disabled}}),children:e.disabled?`Enable the user`:`Disable the user`})]})]},e.id))})}),(0,q.jsx)(i,{opened:w!==null,onClose:()=>E(null),title:`One-time sign-in link`,size:`lg`,children:w&&(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsxs)(`p`,{className:`soft`,children:[`Anyone with this link can sign in once. It expires `,(0,q.jsx)(h,{at:w.expires_at}),`.`]}),(0,q.jsx)(F,{label:`Copy the link`,children:w.url})]})})]})}function ge(){let e=n().data,[t,r]=D(`tab`,`you`),i=s(e,`admin`),a=[[`you`,`Account`],[`connect`,`Connect a client`]];return s(e,`keys:write`)&&a.push([`keys`,`Keys`]),i&&a.push([`users`,`Users`]),a.push([`limits`,`Limits`]),s(e,`servers:write`)&&a.push([`secrets`,`Secrets`]),s(e,`tools:read`)&&a.push([`files`,`Import and export`]),i&&e?.tenant==="default"&&a.push([`egress`,`Egress`],[`instance`,`Instance`]),(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(g,{title:`Settings`}),(0,q.jsx)(S,{label:`Settings`,now:t,choose:r,tabs:a}),t===`you`&&e&&(0,q.jsx)(J,{me:e}),t===`connect`&&(0,q.jsx)(Z,{}),t===`keys`&&(0,q.jsx)(de,{}),t===`users`&&i&&(0,q.jsx)(he,{}),t===`limits`&&(0,q.jsx)(fe,{}),t===`secrets`&&(0,q.jsx)(me,{}),t===`files`&&(0,q.jsx)(ie,{}),t===`egress`&&(0,q.jsx)(re,{}),t===`instance`&&(0,q.jsx)(ue,{})]})}export{ge as default};