import{P as e,c as t,g as n,i as r,l as i}from"./data-BJBXKqzD.js";import{I as a,L as o,N as s,P as c,R as l,a as u,c as d,dt as f,i as p,l as m,lt as h,m as g,n as _,p as v,t as y,u as b,y as x}from"./states-qRTI8wwD.js";import{t as S}from"./url-wvztM61B.js";import{t as C}from"./NativeSelect-C6wf5fD7.js";import{t as w}from"./PasswordInput-CzOAHNql.js";import{t as T}from"./useMutation-5j0SjE8j.js";import{a as E,n as D,t as O}from"./jsx-runtime-Wy9s6hX0.js";import{t as k}from"./instanceURL-CcA-2C8z.js";import{t as A}from"./Json-BUyOUtqf.js";import{t as j}from"./Checkbox-k_WLyllM.js";import{t as M}from"./Textarea-friHMfPf.js";import{t as N}from"./download-Buo1mUmT.js";import{t as P}from"./save-CRiWdrRU.js";import{t as F}from"./Consent-IC_X0kvJ.js";import{t as I}from"./FilterInput-J6B4lErq.js";import{D as L,O as R,_ as z,k as B,n as V}from"./index-B2cLr5b6.js";import{t as ee}from"./KeyRows-NLu91tKW.js";import{t as te}from"./NumberInput-Cc7houo9.js";import{n as ne,t as H}from"./useEdits-DHwTN0LU.js";import{t as U}from"./key-round-DpRoJAR9.js";import{t as W}from"./ActionMenu-PWApvAcI.js";import{r as G}from"./History-p1SNVqPe.js";var K=E(D(),1),q=O();function J({me:e}){let t=h(),[n,r]=(0,K.useState)(``),[i,a]=(0,K.useState)(``),s=T({mutationFn:e=>o(`PUT`,`/me/sources`,{sources:e}),onSettled:()=>t.invalidateQueries()}),c=T({mutationFn:()=>o(`PUT`,`/me/password`,{password:i,...n?{current:n}:{}}),onSuccess:()=>{r(``),a(``)}});return(0,q.jsxs)(`div`,{className:`columns`,children:[(0,q.jsx)(m,{title:e.name||e.subject,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsxs)(`dl`,{className:`facts`,children:[(0,q.jsx)(`dt`,{children:`Role`}),(0,q.jsx)(`dd`,{children:e.person?.role??`–`}),(0,q.jsx)(`dt`,{children:`Tenant`}),(0,q.jsx)(`dd`,{children:e.tenant}),(0,q.jsx)(`dt`,{children:`Scopes`}),(0,q.jsx)(`dd`,{className:`row`,children:e.scopes.map(e=>(0,q.jsx)(g,{children:e},e))}),(0,q.jsx)(`dt`,{children:`Tier`}),(0,q.jsx)(`dd`,{children:e.person?.tier??`–`})]}),e.person&&(0,q.jsx)(C,{label:`Tools at your default endpoint`,description:`In addition to built-in tools. Every server also has its own endpoint.`,value:e.person.sources,disabled:s.isPending,data:[{value:`both`,label:`All`},{value:`bring-your-own`,label:`Upstream servers`},{value:`auto-generated`,label:`Generated servers`}],onChange:e=>s.mutate(e.currentTarget.value)}),s.error&&(0,q.jsx)(_,{error:s.error})]})}),e.person&&(0,q.jsx)(m,{title:`Password`,pad:!0,children:(0,q.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),c.mutate()},children:[(0,q.jsx)(w,{label:`Current password`,description:`Leave empty if you have none.`,autoComplete:`current-password`,value:n,onChange:e=>r(e.currentTarget.value)}),(0,q.jsx)(w,{label:`New password`,description:`12 characters or more. Your other sessions end.`,autoComplete:`new-password`,value:i,onChange:e=>a(e.currentTarget.value)}),c.error&&(0,q.jsx)(_,{error:c.error}),(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(f,{type:`submit`,disabled:[...i].length<12,loading:c.isPending,children:`Set password`}),c.isSuccess&&(0,q.jsx)(`span`,{className:`small soft`,children:`Password set.`})]})]})})]})}var Y=[{name:`claude-code`,title:`Claude Code`,files:{darwin:`~/.claude.json`,linux:`~/.claude.json`,windows:`%USERPROFILE%\\.claude.json`},project:`.mcp.json`,entry:`{
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
`}],X=[[`linux`,`Linux`],[`darwin`,`macOS`],[`windows`,`Windows`]];function re(){let[e,t]=S(`client`,Y[0]?.name??``),n=Y.find(t=>t.name===e)??Y[0];if(!n)return null;let r=n.entry.replaceAll(`http://junctor.invalid`,k()),i=r===n.entry,a=X.map(([e,t])=>({title:t,file:n.files[e]})),o=a.every(({file:e})=>e===a[0]?.file);return(0,q.jsxs)(`div`,{className:`stack`,style:{gap:`1.125rem`},children:[(0,q.jsx)(m,{pad:!0,children:(0,q.jsx)(C,{label:`Client`,value:n.name,data:Y.map(e=>({value:e.name,label:e.title})),onChange:e=>t(e.currentTarget.value)})}),(0,q.jsxs)(`div`,{className:`columns`,children:[(0,q.jsx)(m,{title:`On the machine of this instance`,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsxs)(`p`,{className:`soft`,children:[`One command puts Junctor into the configuration of `,n.title,`, with a key of its own, and keeps a copy of the file.`]}),(0,q.jsx)(A,{children:`junctor connect ${n.name}`}),(0,q.jsx)(`p`,{className:`soft`,children:`To connect it as an agent that has a few tools alone:`}),(0,q.jsx)(A,{children:`junctor connect ${n.name} --agent laptop --tool 'demo/*'`})]})}),(0,q.jsx)(m,{title:`By hand`,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsx)(`p`,{className:`soft`,children:i?`${n.title} starts Junctor instead of using a URL, so this works on the machine of this instance. Create a key under “Keys”, and put it in place of YOUR-KEY.`:`On any machine that reaches this instance: create a key under “Keys”, and put it in place of YOUR-KEY.`}),(0,q.jsx)(A,{label:`Copy the entry`,children:r}),(0,q.jsxs)(`dl`,{className:`facts`,children:[o?(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(`dt`,{children:`File`}),(0,q.jsx)(`dd`,{children:(0,q.jsx)(`code`,{className:`wrap`,children:a[0]?.file})})]}):a.map(({title:e,file:t})=>[(0,q.jsx)(`dt`,{children:e},`${e} name`),(0,q.jsx)(`dd`,{children:(0,q.jsx)(`code`,{className:`wrap`,children:t})},e)]),n.project&&(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(`dt`,{children:`In a project`}),(0,q.jsx)(`dd`,{children:(0,q.jsx)(`code`,{className:`wrap`,children:n.project})})]})]})]})})]})]})}var Z=()=>l({queryKey:[`settings`],queryFn:({signal:e})=>c(`/settings`,e),select:e=>e.items}),ie=[{name:`egress-allow`,title:`Private networks`,about:`Private networks that Junctor may connect to. Public addresses are always allowed.`,none:`none`,example:`10.20.0.0/16`},{name:`egress-proxy`,title:`Proxy`,about:`All outgoing connections use this proxy. Proxy variables of the environment are ignored.`,none:`none (direct connections)`,example:`http://proxy.example.com:3128`},{name:`allow-commands`,title:`Commands through the API`,about:`Whether admins may add commands through this page and the API. The operator can always add them on the command line.`,none:`false`,example:`true`}];function ae(){let e=Z();return(0,q.jsx)(p,{query:e,children:e=>(0,q.jsxs)(`div`,{className:`stack`,children:[ie.map(t=>{let n=e.find(e=>e.name===t.name);return(0,q.jsx)(m,{title:t.title,acts:n&&(0,q.jsx)(g,{tone:n.source==="default"?``:`act`,children:n.source}),pad:!0,children:(0,q.jsxs)(`div`,{className:`stack tight`,children:[(0,q.jsx)(`p`,{className:`soft`,children:t.about}),(0,q.jsx)(`p`,{children:(0,q.jsx)(`code`,{className:`wrap`,children:n?.value||t.none})}),(0,q.jsxs)(`p`,{className:`small soft wrap`,children:[`To change it: `,(0,q.jsxs)(`code`,{children:[`--`,t.name]}),`, `,(0,q.jsxs)(`code`,{children:[`JUNCTOR_`,t.name.replaceAll(`-`,`_`).toUpperCase()]}),`, or in the settings file`,` `,(0,q.jsxs)(`code`,{children:[t.name.replaceAll(`-`,`_`),`: `,t.example]})]})]})},t.name)}),(0,q.jsx)(`p`,{className:`small soft`,children:`Changes take effect after a restart. This page cannot change them, so that a stolen login cannot open the network.`})]})})}function oe(){let t=i().data;return(0,q.jsxs)(`div`,{className:`columns`,children:[(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsx)(se,{}),(0,q.jsx)(ce,{})]}),e(t,`servers:write`)&&(0,q.jsx)(ue,{})]})}function se(){let e=T({mutationFn:e=>s(`/export${a({format:e})}`),onSuccess:(e,t)=>P(`junctor-servers.${t}`,e.text,t===`json`?`application/json`:void 0)});return(0,q.jsx)(m,{title:`Export servers and agents`,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsx)(`p`,{className:`soft`,children:`A stable file for a repository or another instance. It has no credentials: each is replaced by a variable.`}),(0,q.jsx)(`div`,{className:`acts`,children:[`yaml`,`json`].map(t=>(0,q.jsx)(f,{variant:`default`,leftSection:(0,q.jsx)(N,{size:14}),loading:e.isPending&&e.variables===t,onClick:()=>e.mutate(t),children:t.toUpperCase()},t))}),e.error&&(0,q.jsx)(_,{error:e.error}),e.data&&e.data.variables.length>0&&(0,q.jsxs)(`p`,{className:`small wrap`,children:[`Set these variables where you apply the file:`,` `,e.data.variables.map(e=>(0,q.jsxs)(`code`,{children:[e.name,` `]},e.name))]})]})})}function ce(){let e=n().data?.filter(e=>e.mode===`bring-your-own`)??[],t=r().data??[],[i,a]=(0,K.useState)([]),o=T({mutationFn:()=>{let e=new URLSearchParams(i.map(e=>e.split(`/`,2)));return s(`/packs/export?${e}`)},onSuccess:e=>P(`pack.yaml`,e.text)}),c=[...e.map(e=>[`server`,e.id,e.title]),...t.map(e=>[`agent`,e.name,e.title])];return(0,q.jsx)(m,{title:`Create a pack`,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsx)(`p`,{className:`soft`,children:`Select servers and agents to share. Each credential becomes a question. Check the file before you share it.`}),c.map(([e,t,n])=>{let r=`${e}/${t}`;return(0,q.jsx)(j,{label:`${n||t}${e===`agent`?` (agent)`:``}`,checked:i.includes(r),onChange:e=>a(e.currentTarget.checked?[...i,r]:i.filter(e=>e!==r))},r)}),c.length===0&&(0,q.jsx)(`p`,{className:`small soft`,children:`Add a server or an agent first.`}),(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(f,{variant:`default`,leftSection:(0,q.jsx)(N,{size:14}),disabled:i.length===0,loading:o.isPending,onClick:()=>o.mutate(),children:`Create the pack`}),o.data&&(0,q.jsx)(`span`,{className:`small soft`,children:o.data.questions.length===0?`The pack asks no questions.`:`The pack asks for ${o.data.questions.map(e=>e.name).join(`, `)}.`})]}),o.error&&(0,q.jsx)(_,{error:o.error})]})})}var le={add:[`add`,`good`],change:[`change`,`act`],remove:[`remove`,`bad`],conflict:[`conflict`,`warn`]};function ue(){let e=h(),[t,n]=(0,K.useState)(``),[r,i]=(0,K.useState)(!1),[a,s]=(0,K.useState)({}),c=T({mutationFn:e=>o(`POST`,`/apply`,{file:t,prune:r,dry_run:e}),onSuccess:(t,n)=>{n||e.invalidateQueries()}}),l=()=>{c.reset(),s({})},u=c.data?.changes,d=u!==void 0&&c.variables,p=d?u.filter(e=>e.command&&e.command.length>0):[];return(0,q.jsx)(m,{title:`Apply a file`,pad:!0,children:(0,q.jsxs)(`div`,{className:`stack editor`,children:[(0,q.jsx)(M,{label:`Settings file`,description:`The servers and agents of a settings file. You see the changes before you apply them.`,autosize:!0,minRows:8,maxRows:20,placeholder:`servers:
  notes:
    url: https://notes.example.com/mcp`,value:t,onChange:e=>{n(e.currentTarget.value),l()}}),(0,q.jsx)(`input`,{type:`file`,accept:`.yaml,.yml,.json`,"aria-label":`Choose a file`,onChange:e=>e.currentTarget.files?.[0]?.text().then(e=>{n(e),l()})}),(0,q.jsx)(j,{label:`Remove servers and agents that are not in the file`,checked:r,onChange:e=>{i(e.currentTarget.checked),l()}}),c.error&&(0,q.jsx)(_,{error:c.error}),u&&(0,q.jsxs)(`ul`,{className:`stack tight`,style:{margin:0,padding:0,listStyle:`none`},"aria-label":`Changes`,children:[u.length===0&&(0,q.jsx)(`li`,{className:`soft`,children:`The instance matches the file.`}),u.map(e=>(0,q.jsx)(de,{c:e},`${e.kind}/${e.id}`))]}),p.map(e=>(0,q.jsx)(F,{words:e.command??[],checked:a[e.id]??!1,setChecked:t=>s({...a,[e.id]:t})},e.id)),(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(f,{variant:d&&u.length>0?`default`:`filled`,disabled:!t.trim(),loading:c.isPending&&c.variables,onClick:()=>c.mutate(!0),children:`Show changes`}),(0,q.jsx)(f,{disabled:!d||u.length===0||!p.every(e=>a[e.id]),loading:c.isPending&&!c.variables,onClick:()=>c.mutate(!1),children:`Apply`})]})]})})}function de({c:e}){let[t,n]=le[e.action];return(0,q.jsxs)(`li`,{children:[(0,q.jsxs)(`span`,{className:`row`,children:[(0,q.jsx)(g,{tone:e.error?`bad`:n,children:e.done?`done`:t}),` `,e.kind,` `,(0,q.jsx)(`b`,{children:e.id}),e.where&&(0,q.jsx)(`span`,{className:`tiny soft`,children:e.where})]}),e.error&&(0,q.jsx)(`span`,{className:`small wrap`,children:e.error}),e.fields?.map(e=>(0,q.jsxs)(`span`,{className:`tiny soft wrap`,style:{display:`block`},children:[(0,q.jsx)(`code`,{children:e.field}),`: `,e.from||`(none)`,` → `,e.to||`(none)`]},e.field))]})}function fe(){let e=Z(),t=l({queryKey:[`settings`,`file`],queryFn:({signal:e})=>s(`/settings/file`,e)}),[n,r]=S(`q`);return(0,q.jsxs)(m,{title:`Settings of this instance`,acts:(0,q.jsx)(I,{label:`Filter settings`,placeholder:`Filter`,small:!0,value:n,change:r}),children:[(0,q.jsx)(p,{query:e,rows:8,children:e=>(0,q.jsx)(b,{label:`Settings`,children:(0,q.jsxs)(`table`,{className:`list`,children:[(0,q.jsx)(`thead`,{children:(0,q.jsxs)(`tr`,{children:[(0,q.jsx)(`th`,{children:`Setting`}),(0,q.jsx)(`th`,{children:`Value`}),(0,q.jsx)(`th`,{children:`Source`})]})}),(0,q.jsx)(`tbody`,{children:e.filter(e=>V(n,e.name,e.value)).map(e=>(0,q.jsxs)(`tr`,{children:[(0,q.jsxs)(`td`,{className:`mono`,children:[`--`,e.name]}),(0,q.jsx)(`td`,{className:`mono cut`,children:e.value||(0,q.jsx)(`span`,{className:`soft`,children:`–`})}),(0,q.jsx)(`td`,{children:(0,q.jsx)(g,{tone:e.source==="default"?``:`act`,children:e.source})})]},e.name))})]})})}),(0,q.jsxs)(`div`,{className:`pad stack tight small`,children:[(0,q.jsx)(`p`,{className:`soft`,children:`Set them with flags, in the environment or in the settings file. Changes take effect after a restart.`}),t.data?.path&&(0,q.jsxs)(`p`,{children:[(0,q.jsx)(`code`,{className:`wrap`,children:t.data.path}),` `,t.data.ok?(0,q.jsx)(g,{tone:`good`,children:`applied`}):(0,q.jsx)(g,{tone:`bad`,children:`not applied`}),` `,t.data.loaded_at&&(0,q.jsxs)(`span`,{className:`soft`,children:[`read `,(0,q.jsx)(u,{at:t.data.loaded_at})]})]}),t.data?.problems?.map(e=>(0,q.jsxs)(`p`,{className:`wrap`,children:[(0,q.jsx)(`code`,{children:e.where}),` `,e.message]},`${e.where}${e.message}`)),t.data?.restart&&t.data.restart.length>0&&(0,q.jsxs)(`p`,{children:[`Applied after a restart: `,t.data.restart.join(`, `)]})]})]})}function pe(){let e=t();return(0,q.jsx)(m,{children:(0,q.jsx)(p,{query:e,children:e=>(0,q.jsx)(ee,{keys:e})})})}function me(){let t=i().data,n=l({queryKey:[`limits`],queryFn:({signal:e})=>s(`/limits`,e)}),[r,a]=(0,K.useState)(null),o=e(t,`admin`);return(0,q.jsxs)(m,{title:`Limits of tiers and tools`,acts:o&&(0,q.jsx)(f,{size:`compact-sm`,variant:`default`,leftSection:(0,q.jsx)(z,{size:13}),onClick:()=>a({name:``,fresh:!0}),children:`Add`}),children:[(0,q.jsx)(p,{query:n,children:e=>(0,q.jsx)(b,{label:`Limits`,children:(0,q.jsxs)(`table`,{className:`list`,children:[(0,q.jsx)(`thead`,{children:(0,q.jsxs)(`tr`,{children:[(0,q.jsx)(`th`,{children:`Tier or tool`}),(0,q.jsx)(`th`,{className:`right`,children:`Per second`}),(0,q.jsx)(`th`,{className:`right wide`,children:`Burst`}),(0,q.jsx)(`th`,{className:`right`,children:`Per day`}),(0,q.jsx)(`th`,{className:`right wide`,children:`Concurrent`}),(0,q.jsx)(`th`,{className:`wide`,children:`Over the limit`}),(0,q.jsx)(`th`,{})]})}),(0,q.jsx)(`tbody`,{children:[...Object.entries(e.tiers??{}),...Object.entries(e.tools??{})].map(([e,t])=>(0,q.jsxs)(`tr`,{children:[(0,q.jsx)(`td`,{className:e.includes(`/`)?`mono`:``,style:{fontWeight:550},children:e}),(0,q.jsx)(`td`,{className:`right num`,children:t.per_second??`–`}),(0,q.jsx)(`td`,{className:`right num wide`,children:t.burst??`–`}),(0,q.jsx)(`td`,{className:`right num`,children:t.per_day?x(t.per_day):`–`}),(0,q.jsx)(`td`,{className:`right num wide`,children:t.concurrent??`–`}),(0,q.jsx)(`td`,{className:`wide soft`,children:t.over_limit===`queue`?`wait`:`refuse`}),(0,q.jsx)(`td`,{className:`right`,children:o&&(0,q.jsx)(f,{size:`compact-xs`,variant:`subtle`,onClick:()=>a({name:e,fresh:!1}),children:`Edit`})})]},e))})]})})}),(0,q.jsx)(R,{opened:r!==null,onClose:()=>a(null),title:r?.fresh?`Add a limit`:r?.name,children:r&&n.data&&(0,q.jsx)(Q,{...r,policy:n.data,close:()=>a(null)},r.name)})]})}function Q({name:e,fresh:t,policy:n,close:r}){let i=h(),[a,s]=(0,K.useState)(e),c=t=>({...t.tiers?.[e]??t.tools?.[e]}),l=H(n,c),u=l.fields,d={onSuccess:r,onSettled:()=>i.invalidateQueries({queryKey:[`limits`]})},p=ne({of:l,fieldsOf:c,request:()=>[`PATCH`,`/limits`],bodyOf:e=>({[a.includes(`/`)?`tools`:`tiers`]:{[a]:e}}),done:()=>(r(),i.invalidateQueries({queryKey:[`limits`]}))}),m=T({mutationFn:()=>o(`PATCH`,`/limits`,{remove:[e]}),...d}),g=(e,t)=>(0,q.jsx)(te,{label:t,min:0,hideControls:!0,value:u[e]??``,onChange:t=>l.edit({[e]:t===``?void 0:Number(t)})});return(0,q.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),p.save()},children:[t&&(0,q.jsx)(L,{label:`Tier, or server/tool`,value:a,"data-autofocus":!0,onChange:e=>s(e.currentTarget.value)}),g(`per_second`,`Calls per second`),g(`burst`,`Burst`),g(`per_day`,`Calls per day`),g(`concurrent`,`Concurrent calls`),(0,q.jsx)(C,{label:`Over the limit`,value:u.over_limit??`reject`,data:[{value:`reject`,label:`refuse the call`},{value:`queue`,label:`queue the call`}],onChange:e=>l.edit({over_limit:e.currentTarget.value})}),p.error??m.error?(0,q.jsx)(_,{error:p.error??m.error}):null,p.dialog,(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(f,{type:`submit`,disabled:!a,loading:p.busy,children:`Save`}),!t&&(0,q.jsx)(f,{variant:`light`,color:`red`,loading:m.isPending,onClick:()=>m.mutate(),children:`Remove`})]})]})}function he(){let t=i().data,n=l({queryKey:[`secrets`],queryFn:({signal:e})=>c(`/secrets`,e),select:e=>e.items}),r=h(),[a,s]=(0,K.useState)(null),[d,g]=(0,K.useState)(``),v=T({mutationFn:()=>o(`POST`,`/secrets/rotate`)}),b={onSuccess:()=>{s(null),g(``)},onSettled:()=>r.invalidateQueries({queryKey:[`secrets`]})},x=e=>`/secrets/${encodeURIComponent(e.owner)}/${encodeURIComponent(e.name)}`,S=T({mutationFn:e=>o(`PUT`,x(e),{value:d}),...b}),C=T({mutationFn:e=>o(`DELETE`,x(e)),...b});return(0,q.jsxs)(m,{title:`Stored secrets`,acts:e(t,`admin`)&&t?.tenant==="default"&&(0,q.jsx)(f,{size:`compact-sm`,variant:`default`,loading:v.isPending,onClick:()=>v.mutate(),children:`Replace the sealing key`}),children:[v.error&&(0,q.jsx)(`div`,{className:`pad`,children:(0,q.jsx)(_,{error:v.error})}),v.data&&(0,q.jsxs)(`div`,{className:`pad stack tight small`,role:`status`,children:[(0,q.jsxs)(`p`,{children:[v.data.rewrapped,` secrets now use the new sealing key `,(0,q.jsx)(`code`,{children:v.data.key_id}),`. Keep a copy of the key file apart from your backups.`]}),(v.data.broken??0)>0&&(0,q.jsxs)(`p`,{children:[v.data.broken,` secrets cannot be decrypted with any sealing key. Enter them again.`]}),v.data.unused&&v.data.unused.length>0&&(0,q.jsxs)(`p`,{children:[`Remove `,v.data.unused.join(`, `),` from JUNCTOR_SEAL_KEY: no longer used.`]})]}),(0,q.jsx)(p,{query:n,children:e=>e.length===0?(0,q.jsx)(y,{icon:(0,q.jsx)(U,{size:28,strokeWidth:1.5,"aria-hidden":!0}),title:`No secrets`,children:`Enter the credentials of a server on its page. They are never shown again.`}):(0,q.jsx)(`div`,{className:`rows`,children:e.map(e=>(0,q.jsxs)(`div`,{children:[(0,q.jsxs)(`span`,{className:`grow mono cut`,children:[e.owner,`/`,e.name]}),(0,q.jsxs)(`span`,{className:`small soft`,children:[`set `,(0,q.jsx)(u,{at:e.updated_at})]}),(0,q.jsx)(f,{size:`compact-xs`,variant:`subtle`,onClick:()=>s({owner:e.owner,name:e.name}),children:`Replace`})]},`${e.owner}/${e.name}`))})}),(0,q.jsx)(R,{opened:a!==null,onClose:()=>s(null),title:a?`${a.owner}/${a.name}`:``,children:a&&(0,q.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),d&&S.mutate(a)},children:[(0,q.jsx)(w,{label:`New value`,description:`Stored encrypted and never shown again.`,autoComplete:`off`,"data-autofocus":!0,value:d,onChange:e=>g(e.currentTarget.value)}),(S.error??C.error)&&(0,q.jsx)(_,{error:S.error??C.error}),(0,q.jsxs)(`div`,{className:`acts`,children:[(0,q.jsx)(f,{type:`submit`,disabled:!d,loading:S.isPending,children:`Replace`}),(0,q.jsx)(f,{variant:`light`,color:`red`,loading:C.isPending,onClick:()=>C.mutate(a),children:`Delete`})]})]})})]})}var $=[`viewer`,`developer`,`admin`];function ge(){let e=i().data,t=h(),n=l({queryKey:[`users`],queryFn:({signal:e})=>c(`/users`,e),select:e=>e.items}),r=l({queryKey:[`limits`],queryFn:({signal:e})=>s(`/limits`,e)}),[a,d]=(0,K.useState)(``),[v,b]=(0,K.useState)(`viewer`),[x,S]=(0,K.useState)(null),[w,E]=(0,K.useState)(null),D={onSettled:()=>t.invalidateQueries({queryKey:[`users`]})},O=T({mutationFn:()=>o(`POST`,`/users`,{name:a,role:v}),onSuccess:()=>d(``),...D}),k=T({mutationFn:e=>o(`PATCH`,`/users/${e.id}`,e.body),...D}),j=T({mutationFn:e=>o(`POST`,`/users/${e}/link`),onSuccess:E}),M=O.error??k.error??j.error;return(0,q.jsxs)(m,{children:[(0,q.jsxs)(`form`,{className:`pad row`,style:{borderBottom:`1px solid var(--line-soft)`},onSubmit:e=>{e.preventDefault(),a&&O.mutate()},children:[(0,q.jsx)(L,{className:`grow`,style:{minWidth:`12rem`},placeholder:`name@example.com`,"aria-label":`Name`,value:a,onChange:e=>d(e.currentTarget.value)}),(0,q.jsx)(C,{"aria-label":`Role`,value:v,data:$,onChange:e=>b(e.currentTarget.value)}),(0,q.jsx)(f,{type:`submit`,disabled:!a,loading:O.isPending,leftSection:(0,q.jsx)(z,{size:15}),children:`Add a user`})]}),M&&(0,q.jsx)(`div`,{className:`pad`,children:(0,q.jsx)(_,{error:M})}),(0,q.jsx)(p,{query:n,children:t=>t.length===0?(0,q.jsx)(y,{title:`No users yet`}):(0,q.jsx)(`div`,{className:`rows`,children:t.map(t=>(0,q.jsxs)(`div`,{children:[(0,q.jsxs)(`span`,{className:`grow row`,children:[(0,q.jsx)(`b`,{className:`cut`,children:t.name}),` `,t.disabled&&(0,q.jsx)(g,{tone:`warn`,children:`off`}),` `,t.id===e?.user&&(0,q.jsx)(g,{tone:`act`,children:`you`})]}),(0,q.jsx)(C,{size:`xs`,className:`wide`,"aria-label":`Tier of ${t.name}`,value:t.tier,data:[...new Set([t.tier,...Object.keys(r.data?.tiers??{})])],onChange:e=>k.mutate({id:t.id,body:{tier:e.currentTarget.value}})}),(0,q.jsxs)(`span`,{className:`small soft wide`,children:[`added `,(0,q.jsx)(u,{at:t.created_at})]}),(0,q.jsx)(C,{size:`xs`,"aria-label":`Role of ${t.name}`,value:t.role,data:$,onChange:e=>k.mutate({id:t.id,body:{role:e.currentTarget.value}})}),(0,q.jsxs)(W,{label:`Actions for ${t.name}`,children:[(0,q.jsx)(B.Item,{onClick:()=>j.mutate(t.id),children:`Create a sign-in link`}),(0,q.jsx)(B.Item,{onClick:()=>k.mutate({id:t.id,body:{disabled:!t.disabled}}),children:t.disabled?`Enable the user`:`Disable the user`}),(0,q.jsx)(B.Item,{onClick:()=>S(t),children:`History`})]})]},t.id))})}),x&&(0,q.jsx)(G,{object:`user`,id:x.id,name:x.name,close:()=>S(null)}),(0,q.jsx)(R,{opened:w!==null,onClose:()=>E(null),title:`One-time sign-in link`,size:`lg`,children:w&&(0,q.jsxs)(`div`,{className:`stack`,children:[(0,q.jsxs)(`p`,{className:`soft`,children:[`Anyone with this link can sign in once. It expires `,(0,q.jsx)(u,{at:w.expires_at}),`.`]}),(0,q.jsx)(A,{label:`Copy the link`,children:w.url})]})})]})}function _e(){let t=i().data,[n,r]=S(`tab`,`you`),a=e(t,`admin`),o=[[`you`,`Account`],[`connect`,`Connect a client`]];e(t,`keys:write`)&&o.push([`keys`,`Keys`]),a&&o.push([`users`,`Users`]),o.push([`limits`,`Limits`]),e(t,`servers:write`)&&o.push([`secrets`,`Secrets`]),e(t,`tools:read`)&&o.push([`files`,`Import and export`]),a&&t?.tenant==="default"&&o.push([`egress`,`Egress`],[`instance`,`Instance`]);let s=o.some(([e])=>e===n)?n:`you`;return(0,q.jsxs)(q.Fragment,{children:[(0,q.jsx)(d,{title:`Settings`}),(0,q.jsx)(v,{label:`Settings`,now:s,choose:r,tabs:o}),s===`you`&&t&&(0,q.jsx)(J,{me:t}),s===`connect`&&(0,q.jsx)(re,{}),s===`keys`&&(0,q.jsx)(pe,{}),s===`users`&&a&&(0,q.jsx)(ge,{}),s===`limits`&&(0,q.jsx)(me,{}),s===`secrets`&&(0,q.jsx)(he,{}),s===`files`&&(0,q.jsx)(oe,{}),s===`egress`&&(0,q.jsx)(ae,{}),s===`instance`&&(0,q.jsx)(fe,{})]})}export{_e as default};