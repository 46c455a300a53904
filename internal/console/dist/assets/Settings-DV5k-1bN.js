import{P as e,c as t,g as n,i as r,l as i}from"./data-CnQ1E0Gd.js";import{F as a,L as o,P as s,R as c,a as l,c as u,ft as d,i as f,l as p,m,n as h,p as g,t as _,u as v,ut as y,y as b,z as x}from"./states-DLnf-61L.js";import{t as S}from"./url-C12dQ0j2.js";import{t as C}from"./NativeSelect-CoX7p_3C.js";import{t as w}from"./PasswordInput-C4GK0Yhq.js";import{t as T}from"./useMutation-CjC9PsTR.js";import{a as E,n as D,t as O}from"./jsx-runtime-Wy9s6hX0.js";import{t as k}from"./instanceURL-CcA-2C8z.js";import{t as A}from"./Json-D7xuVfJX.js";import{n as j,t as M}from"./Egress-B4QgBdix.js";import{t as N}from"./Checkbox-lLlZkIkR.js";import{t as ee}from"./Textarea-RtQtj4Fv.js";import{t as P}from"./download-DpfGYoaP.js";import{t as F}from"./save-CRiWdrRU.js";import{t as I}from"./Consent-C6FCH11K.js";import{t as L}from"./FilterInput-D_Hmbuz3.js";import{A as R,D as z,_ as B,k as V,n as te}from"./index-CA5Ao7NE.js";import{t as ne}from"./KeyRows-CqaupCdM.js";import{t as H}from"./NumberInput-DxHVBwWG.js";import{n as U,t as W}from"./useEdits-2SjmmE7C.js";import{t as G}from"./key-round-5U9Rrc-t.js";import{t as K}from"./ActionMenu-DUQSCXTs.js";import{r as q}from"./History-C7aDfmXY.js";var J=E(D(),1),Y=O();function X({me:e}){let t=y(),[n,r]=(0,J.useState)(``),[i,a]=(0,J.useState)(``),o=T({mutationFn:e=>c(`PUT`,`/me/sources`,{sources:e}),onSettled:()=>t.invalidateQueries()}),s=T({mutationFn:()=>c(`PUT`,`/me/password`,{password:i,...n?{current:n}:{}}),onSuccess:()=>{r(``),a(``)}});return(0,Y.jsxs)(`div`,{className:`columns`,children:[(0,Y.jsx)(p,{title:e.name||e.subject,pad:!0,children:(0,Y.jsxs)(`div`,{className:`stack`,children:[(0,Y.jsxs)(`dl`,{className:`facts`,children:[(0,Y.jsx)(`dt`,{children:`Role`}),(0,Y.jsx)(`dd`,{children:e.person?.role??`–`}),(0,Y.jsx)(`dt`,{children:`Tenant`}),(0,Y.jsx)(`dd`,{children:e.tenant}),(0,Y.jsx)(`dt`,{children:`Scopes`}),(0,Y.jsx)(`dd`,{className:`row`,children:e.scopes.map(e=>(0,Y.jsx)(m,{children:e},e))}),(0,Y.jsx)(`dt`,{children:`Tier`}),(0,Y.jsx)(`dd`,{children:e.person?.tier??`–`})]}),e.person&&(0,Y.jsx)(C,{label:`Tools at your default endpoint`,description:`In addition to built-in tools. Every server also has its own endpoint.`,value:e.person.sources,disabled:o.isPending,data:[{value:`both`,label:`All`},{value:`bring-your-own`,label:`Upstream servers`},{value:`auto-generated`,label:`Generated servers`}],onChange:e=>o.mutate(e.currentTarget.value)}),o.error&&(0,Y.jsx)(h,{error:o.error})]})}),e.person&&(0,Y.jsx)(p,{title:`Password`,pad:!0,children:(0,Y.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),s.mutate()},children:[(0,Y.jsx)(w,{label:`Current password`,description:`Leave empty if you have none.`,autoComplete:`current-password`,value:n,onChange:e=>r(e.currentTarget.value)}),(0,Y.jsx)(w,{label:`New password`,description:`12 characters or more. Your other sessions end.`,autoComplete:`new-password`,value:i,onChange:e=>a(e.currentTarget.value)}),s.error&&(0,Y.jsx)(h,{error:s.error}),(0,Y.jsxs)(`div`,{className:`acts`,children:[(0,Y.jsx)(d,{type:`submit`,disabled:[...i].length<12,loading:s.isPending,children:`Set password`}),s.isSuccess&&(0,Y.jsx)(`span`,{className:`small soft`,children:`Password set.`})]})]})})]})}var Z=[{name:`claude-code`,title:`Claude Code`,files:{darwin:`~/.claude.json`,linux:`~/.claude.json`,windows:`%USERPROFILE%\\.claude.json`},project:`.mcp.json`,entry:`{
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
`}],re=[[`linux`,`Linux`],[`darwin`,`macOS`],[`windows`,`Windows`]];function ie(){let[e,t]=S(`client`,Z[0]?.name??``),n=Z.find(t=>t.name===e)??Z[0];if(!n)return null;let r=n.entry.replaceAll(`http://junctor.invalid`,k()),i=r===n.entry,a=re.map(([e,t])=>({title:t,file:n.files[e]})),o=a.every(({file:e})=>e===a[0]?.file);return(0,Y.jsxs)(`div`,{className:`stack`,style:{gap:`1.125rem`},children:[(0,Y.jsx)(p,{pad:!0,children:(0,Y.jsx)(C,{label:`Client`,value:n.name,data:Z.map(e=>({value:e.name,label:e.title})),onChange:e=>t(e.currentTarget.value)})}),(0,Y.jsxs)(`div`,{className:`columns`,children:[(0,Y.jsx)(p,{title:`On the machine of this instance`,pad:!0,children:(0,Y.jsxs)(`div`,{className:`stack`,children:[(0,Y.jsxs)(`p`,{className:`soft`,children:[`One command puts Junctor into the configuration of `,n.title,`, with a key of its own, and keeps a copy of the file.`]}),(0,Y.jsx)(A,{children:`junctor connect ${n.name}`}),(0,Y.jsx)(`p`,{className:`soft`,children:`To connect it as an agent that has a few tools alone:`}),(0,Y.jsx)(A,{children:`junctor connect ${n.name} --agent laptop --tool 'demo/*'`})]})}),(0,Y.jsx)(p,{title:`By hand`,pad:!0,children:(0,Y.jsxs)(`div`,{className:`stack`,children:[(0,Y.jsx)(`p`,{className:`soft`,children:i?`${n.title} starts Junctor instead of using a URL, so this works on the machine of this instance. Create a key under “Keys”, and put it in place of YOUR-KEY.`:`On any machine that reaches this instance: create a key under “Keys”, and put it in place of YOUR-KEY.`}),(0,Y.jsx)(A,{label:`Copy the entry`,children:r}),(0,Y.jsxs)(`dl`,{className:`facts`,children:[o?(0,Y.jsxs)(Y.Fragment,{children:[(0,Y.jsx)(`dt`,{children:`File`}),(0,Y.jsx)(`dd`,{children:(0,Y.jsx)(`code`,{className:`wrap`,children:a[0]?.file})})]}):a.map(({title:e,file:t})=>[(0,Y.jsx)(`dt`,{children:e},`${e} name`),(0,Y.jsx)(`dd`,{children:(0,Y.jsx)(`code`,{className:`wrap`,children:t})},e)]),n.project&&(0,Y.jsxs)(Y.Fragment,{children:[(0,Y.jsx)(`dt`,{children:`In a project`}),(0,Y.jsx)(`dd`,{children:(0,Y.jsx)(`code`,{className:`wrap`,children:n.project})})]})]})]})})]})]})}function ae(){let t=i().data;return(0,Y.jsxs)(`div`,{className:`columns`,children:[(0,Y.jsxs)(`div`,{className:`stack`,children:[(0,Y.jsx)(oe,{}),(0,Y.jsx)(se,{})]}),e(t,`servers:write`)&&(0,Y.jsx)(ce,{})]})}function oe(){let e=T({mutationFn:e=>s(`/export${o({format:e})}`),onSuccess:(e,t)=>F(`junctor-servers.${t}`,e.text,t===`json`?`application/json`:void 0)});return(0,Y.jsx)(p,{title:`Export servers and agents`,pad:!0,children:(0,Y.jsxs)(`div`,{className:`stack`,children:[(0,Y.jsx)(`p`,{className:`soft`,children:`A stable file for a repository or another instance. It has no credentials: each is replaced by a variable.`}),(0,Y.jsx)(`div`,{className:`acts`,children:[`yaml`,`json`].map(t=>(0,Y.jsx)(d,{variant:`default`,leftSection:(0,Y.jsx)(P,{size:14}),loading:e.isPending&&e.variables===t,onClick:()=>e.mutate(t),children:t.toUpperCase()},t))}),e.error&&(0,Y.jsx)(h,{error:e.error}),e.data&&e.data.variables.length>0&&(0,Y.jsxs)(`p`,{className:`small wrap`,children:[`Set these variables where you apply the file:`,` `,e.data.variables.map(e=>(0,Y.jsxs)(`code`,{children:[e.name,` `]},e.name))]})]})})}function se(){let e=n().data?.filter(e=>e.mode===`bring-your-own`)??[],t=r().data??[],[i,a]=(0,J.useState)([]),o=T({mutationFn:()=>{let e=new URLSearchParams(i.map(e=>e.split(`/`,2)));return s(`/packs/export?${e}`)},onSuccess:e=>F(`pack.yaml`,e.text)}),c=[...e.map(e=>[`server`,e.id,e.title]),...t.map(e=>[`agent`,e.name,e.title])];return(0,Y.jsx)(p,{title:`Create a pack`,pad:!0,children:(0,Y.jsxs)(`div`,{className:`stack`,children:[(0,Y.jsx)(`p`,{className:`soft`,children:`Select servers and agents to share. Each credential becomes a question. Check the file before you share it.`}),c.map(([e,t,n])=>{let r=`${e}/${t}`;return(0,Y.jsx)(N,{label:`${n||t}${e===`agent`?` (agent)`:``}`,checked:i.includes(r),onChange:e=>a(e.currentTarget.checked?[...i,r]:i.filter(e=>e!==r))},r)}),c.length===0&&(0,Y.jsx)(`p`,{className:`small soft`,children:`Add a server or an agent first.`}),(0,Y.jsxs)(`div`,{className:`acts`,children:[(0,Y.jsx)(d,{variant:`default`,leftSection:(0,Y.jsx)(P,{size:14}),disabled:i.length===0,loading:o.isPending,onClick:()=>o.mutate(),children:`Create the pack`}),o.data&&(0,Y.jsx)(`span`,{className:`small soft`,children:o.data.questions.length===0?`The pack asks no questions.`:`The pack asks for ${o.data.questions.map(e=>e.name).join(`, `)}.`})]}),o.error&&(0,Y.jsx)(h,{error:o.error})]})})}var Q={add:[`add`,`good`],change:[`change`,`act`],remove:[`remove`,`bad`],conflict:[`conflict`,`warn`]};function ce(){let e=y(),[t,n]=(0,J.useState)(``),[r,i]=(0,J.useState)(!1),[a,o]=(0,J.useState)({}),s=T({mutationFn:e=>c(`POST`,`/apply`,{file:t,prune:r,dry_run:e}),onSuccess:(t,n)=>{n||e.invalidateQueries()}}),l=()=>{s.reset(),o({})},u=s.data?.changes,f=u!==void 0&&s.variables,m=f?u.filter(e=>e.command&&e.command.length>0):[];return(0,Y.jsx)(p,{title:`Apply a file`,pad:!0,children:(0,Y.jsxs)(`div`,{className:`stack editor`,children:[(0,Y.jsx)(ee,{label:`Settings file`,description:`The servers and agents of a settings file. You see the changes before you apply them.`,autosize:!0,minRows:8,maxRows:20,placeholder:`servers:
  notes:
    url: https://notes.example.com/mcp`,value:t,onChange:e=>{n(e.currentTarget.value),l()}}),(0,Y.jsx)(`input`,{type:`file`,accept:`.yaml,.yml,.json`,"aria-label":`Choose a file`,onChange:e=>e.currentTarget.files?.[0]?.text().then(e=>{n(e),l()})}),(0,Y.jsx)(N,{label:`Remove servers and agents that are not in the file`,checked:r,onChange:e=>{i(e.currentTarget.checked),l()}}),s.error&&(0,Y.jsx)(h,{error:s.error}),u&&(0,Y.jsxs)(`ul`,{className:`stack tight`,style:{margin:0,padding:0,listStyle:`none`},"aria-label":`Changes`,children:[u.length===0&&(0,Y.jsx)(`li`,{className:`soft`,children:`The instance matches the file.`}),u.map(e=>(0,Y.jsx)(le,{c:e},`${e.kind}/${e.id}`))]}),m.map(e=>(0,Y.jsx)(I,{words:e.command??[],checked:a[e.id]??!1,setChecked:t=>o({...a,[e.id]:t})},e.id)),(0,Y.jsxs)(`div`,{className:`acts`,children:[(0,Y.jsx)(d,{variant:f&&u.length>0?`default`:`filled`,disabled:!t.trim(),loading:s.isPending&&s.variables,onClick:()=>s.mutate(!0),children:`Show changes`}),(0,Y.jsx)(d,{disabled:!f||u.length===0||!m.every(e=>a[e.id]),loading:s.isPending&&!s.variables,onClick:()=>s.mutate(!1),children:`Apply`})]})]})})}function le({c:e}){let[t,n]=Q[e.action];return(0,Y.jsxs)(`li`,{children:[(0,Y.jsxs)(`span`,{className:`row`,children:[(0,Y.jsx)(m,{tone:e.error?`bad`:n,children:e.done?`done`:t}),` `,e.kind,` `,(0,Y.jsx)(`b`,{children:e.id}),e.where&&(0,Y.jsx)(`span`,{className:`tiny soft`,children:e.where})]}),e.error&&(0,Y.jsx)(`span`,{className:`small wrap`,children:e.error}),e.fields?.map(e=>(0,Y.jsxs)(`span`,{className:`tiny soft wrap`,style:{display:`block`},children:[(0,Y.jsx)(`code`,{children:e.field}),`: `,e.from||`(none)`,` → `,e.to||`(none)`]},e.field))]})}function ue(){let e=j(),t=x({queryKey:[`settings`,`file`],queryFn:({signal:e})=>s(`/settings/file`,e)}),[n,r]=S(`q`);return(0,Y.jsxs)(p,{title:`Settings of this instance`,acts:(0,Y.jsx)(L,{label:`Filter settings`,placeholder:`Filter`,small:!0,value:n,change:r}),children:[(0,Y.jsx)(f,{query:e,rows:8,children:e=>(0,Y.jsx)(v,{label:`Settings`,children:(0,Y.jsxs)(`table`,{className:`list`,children:[(0,Y.jsx)(`thead`,{children:(0,Y.jsxs)(`tr`,{children:[(0,Y.jsx)(`th`,{children:`Setting`}),(0,Y.jsx)(`th`,{children:`Value`}),(0,Y.jsx)(`th`,{children:`Source`})]})}),(0,Y.jsx)(`tbody`,{children:e.filter(e=>te(n,e.name,e.value)).map(e=>(0,Y.jsxs)(`tr`,{children:[(0,Y.jsxs)(`td`,{className:`mono`,children:[`--`,e.name]}),(0,Y.jsx)(`td`,{className:`mono cut`,children:e.value||(0,Y.jsx)(`span`,{className:`soft`,children:`–`})}),(0,Y.jsx)(`td`,{children:(0,Y.jsx)(m,{tone:e.source==="default"?``:`act`,children:e.source})})]},e.name))})]})})}),(0,Y.jsxs)(`div`,{className:`pad stack tight small`,children:[(0,Y.jsx)(`p`,{className:`soft`,children:`Set them with flags, in the environment or in the settings file. Changes take effect after a restart.`}),t.data?.path&&(0,Y.jsxs)(`p`,{children:[(0,Y.jsx)(`code`,{className:`wrap`,children:t.data.path}),` `,t.data.ok?(0,Y.jsx)(m,{tone:`good`,children:`applied`}):(0,Y.jsx)(m,{tone:`bad`,children:`not applied`}),` `,t.data.loaded_at&&(0,Y.jsxs)(`span`,{className:`soft`,children:[`read `,(0,Y.jsx)(l,{at:t.data.loaded_at})]})]}),t.data?.problems?.map(e=>(0,Y.jsxs)(`p`,{className:`wrap`,children:[(0,Y.jsx)(`code`,{children:e.where}),` `,e.message]},`${e.where}${e.message}`)),t.data?.restart&&t.data.restart.length>0&&(0,Y.jsxs)(`p`,{children:[`Applied after a restart: `,t.data.restart.join(`, `)]})]})]})}function de(){let e=t();return(0,Y.jsx)(p,{children:(0,Y.jsx)(f,{query:e,children:e=>(0,Y.jsx)(ne,{keys:e})})})}function fe(){let t=i().data,n=x({queryKey:[`limits`],queryFn:({signal:e})=>s(`/limits`,e)}),[r,a]=(0,J.useState)(null),o=e(t,`admin`);return(0,Y.jsxs)(p,{title:`Limits of tiers and tools`,acts:o&&(0,Y.jsx)(d,{size:`compact-sm`,variant:`default`,leftSection:(0,Y.jsx)(B,{size:13}),onClick:()=>a({name:``,fresh:!0}),children:`Add`}),children:[(0,Y.jsx)(f,{query:n,children:e=>(0,Y.jsx)(v,{label:`Limits`,children:(0,Y.jsxs)(`table`,{className:`list`,children:[(0,Y.jsx)(`thead`,{children:(0,Y.jsxs)(`tr`,{children:[(0,Y.jsx)(`th`,{children:`Tier or tool`}),(0,Y.jsx)(`th`,{className:`right`,children:`Per second`}),(0,Y.jsx)(`th`,{className:`right wide`,children:`Burst`}),(0,Y.jsx)(`th`,{className:`right`,children:`Per day`}),(0,Y.jsx)(`th`,{className:`right wide`,children:`Concurrent`}),(0,Y.jsx)(`th`,{className:`wide`,children:`Over the limit`}),(0,Y.jsx)(`th`,{})]})}),(0,Y.jsx)(`tbody`,{children:[...Object.entries(e.tiers??{}),...Object.entries(e.tools??{})].map(([e,t])=>(0,Y.jsxs)(`tr`,{children:[(0,Y.jsx)(`td`,{className:e.includes(`/`)?`mono`:``,style:{fontWeight:550},children:e}),(0,Y.jsx)(`td`,{className:`right num`,children:t.per_second??`–`}),(0,Y.jsx)(`td`,{className:`right num wide`,children:t.burst??`–`}),(0,Y.jsx)(`td`,{className:`right num`,children:t.per_day?b(t.per_day):`–`}),(0,Y.jsx)(`td`,{className:`right num wide`,children:t.concurrent??`–`}),(0,Y.jsx)(`td`,{className:`wide soft`,children:t.over_limit===`queue`?`wait`:`refuse`}),(0,Y.jsx)(`td`,{className:`right`,children:o&&(0,Y.jsx)(d,{size:`compact-xs`,variant:`subtle`,onClick:()=>a({name:e,fresh:!1}),children:`Edit`})})]},e))})]})})}),(0,Y.jsx)(V,{opened:r!==null,onClose:()=>a(null),title:r?.fresh?`Add a limit`:r?.name,children:r&&n.data&&(0,Y.jsx)(pe,{...r,policy:n.data,close:()=>a(null)},r.name)})]})}function pe({name:e,fresh:t,policy:n,close:r}){let i=y(),[a,o]=(0,J.useState)(e),s=t=>({...t.tiers?.[e]??t.tools?.[e]}),l=W(n,s),u=l.fields,f={onSuccess:r,onSettled:()=>i.invalidateQueries({queryKey:[`limits`]})},p=U({of:l,fieldsOf:s,request:()=>[`PATCH`,`/limits`],bodyOf:e=>({[a.includes(`/`)?`tools`:`tiers`]:{[a]:e}}),done:()=>(r(),i.invalidateQueries({queryKey:[`limits`]}))}),m=T({mutationFn:()=>c(`PATCH`,`/limits`,{remove:[e]}),...f}),g=(e,t)=>(0,Y.jsx)(H,{label:t,min:0,hideControls:!0,value:u[e]??``,onChange:t=>l.edit({[e]:t===``?void 0:Number(t)})});return(0,Y.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),p.save()},children:[t&&(0,Y.jsx)(z,{label:`Tier, or server/tool`,value:a,"data-autofocus":!0,onChange:e=>o(e.currentTarget.value)}),g(`per_second`,`Calls per second`),g(`burst`,`Burst`),g(`per_day`,`Calls per day`),g(`concurrent`,`Concurrent calls`),(0,Y.jsx)(C,{label:`Over the limit`,value:u.over_limit??`reject`,data:[{value:`reject`,label:`refuse the call`},{value:`queue`,label:`queue the call`}],onChange:e=>l.edit({over_limit:e.currentTarget.value})}),p.error??m.error?(0,Y.jsx)(h,{error:p.error??m.error}):null,p.dialog,(0,Y.jsxs)(`div`,{className:`acts`,children:[(0,Y.jsx)(d,{type:`submit`,disabled:!a,loading:p.busy,children:`Save`}),!t&&(0,Y.jsx)(d,{variant:`light`,color:`red`,loading:m.isPending,onClick:()=>m.mutate(),children:`Remove`})]})]})}function me(){let t=i().data,n=x({queryKey:[`secrets`],queryFn:({signal:e})=>a(`/secrets`,e),select:e=>e.items}),r=y(),[o,s]=(0,J.useState)(null),[u,m]=(0,J.useState)(``),g=T({mutationFn:()=>c(`POST`,`/secrets/rotate`)}),v={onSuccess:()=>{s(null),m(``)},onSettled:()=>r.invalidateQueries({queryKey:[`secrets`]})},b=e=>`/secrets/${encodeURIComponent(e.owner)}/${encodeURIComponent(e.name)}`,S=T({mutationFn:e=>c(`PUT`,b(e),{value:u}),...v}),C=T({mutationFn:e=>c(`DELETE`,b(e)),...v});return(0,Y.jsxs)(p,{title:`Stored secrets`,acts:e(t,`admin`)&&t?.tenant==="default"&&(0,Y.jsx)(d,{size:`compact-sm`,variant:`default`,loading:g.isPending,onClick:()=>g.mutate(),children:`Replace the sealing key`}),children:[g.error&&(0,Y.jsx)(`div`,{className:`pad`,children:(0,Y.jsx)(h,{error:g.error})}),g.data&&(0,Y.jsxs)(`div`,{className:`pad stack tight small`,role:`status`,children:[(0,Y.jsxs)(`p`,{children:[g.data.rewrapped,` secrets now use the new sealing key `,(0,Y.jsx)(`code`,{children:g.data.key_id}),`. Keep a copy of the key file apart from your backups.`]}),(g.data.broken??0)>0&&(0,Y.jsxs)(`p`,{children:[g.data.broken,` secrets cannot be decrypted with any sealing key. Enter them again.`]}),g.data.unused&&g.data.unused.length>0&&(0,Y.jsxs)(`p`,{children:[`Remove `,g.data.unused.join(`, `),` from JUNCTOR_SEAL_KEY: no longer used.`]})]}),(0,Y.jsx)(f,{query:n,children:e=>e.length===0?(0,Y.jsx)(_,{icon:(0,Y.jsx)(G,{size:28,strokeWidth:1.5,"aria-hidden":!0}),title:`No secrets`,children:`Enter the credentials of a server on its page. They are never shown again.`}):(0,Y.jsx)(`div`,{className:`rows`,children:e.map(e=>(0,Y.jsxs)(`div`,{children:[(0,Y.jsxs)(`span`,{className:`grow mono cut`,children:[e.owner,`/`,e.name]}),(0,Y.jsxs)(`span`,{className:`small soft`,children:[`set `,(0,Y.jsx)(l,{at:e.updated_at})]}),(0,Y.jsx)(d,{size:`compact-xs`,variant:`subtle`,onClick:()=>s({owner:e.owner,name:e.name}),children:`Replace`})]},`${e.owner}/${e.name}`))})}),(0,Y.jsx)(V,{opened:o!==null,onClose:()=>s(null),title:o?`${o.owner}/${o.name}`:``,children:o&&(0,Y.jsxs)(`form`,{className:`stack`,onSubmit:e=>{e.preventDefault(),u&&S.mutate(o)},children:[(0,Y.jsx)(w,{label:`New value`,description:`Stored encrypted and never shown again.`,autoComplete:`off`,"data-autofocus":!0,value:u,onChange:e=>m(e.currentTarget.value)}),(S.error??C.error)&&(0,Y.jsx)(h,{error:S.error??C.error}),(0,Y.jsxs)(`div`,{className:`acts`,children:[(0,Y.jsx)(d,{type:`submit`,disabled:!u,loading:S.isPending,children:`Replace`}),(0,Y.jsx)(d,{variant:`light`,color:`red`,loading:C.isPending,onClick:()=>C.mutate(o),children:`Delete`})]})]})})]})}var $=[`viewer`,`developer`,`admin`];function he(){let e=i().data,t=y(),n=x({queryKey:[`users`],queryFn:({signal:e})=>a(`/users`,e),select:e=>e.items}),r=x({queryKey:[`limits`],queryFn:({signal:e})=>s(`/limits`,e)}),[o,u]=(0,J.useState)(``),[g,v]=(0,J.useState)(`viewer`),[b,S]=(0,J.useState)(null),[w,E]=(0,J.useState)(null),D={onSettled:()=>t.invalidateQueries({queryKey:[`users`]})},O=T({mutationFn:()=>c(`POST`,`/users`,{name:o,role:g}),onSuccess:()=>u(``),...D}),k=T({mutationFn:e=>c(`PATCH`,`/users/${e.id}`,e.body),...D}),j=T({mutationFn:e=>c(`POST`,`/users/${e}/link`),onSuccess:E}),M=O.error??k.error??j.error;return(0,Y.jsxs)(p,{children:[(0,Y.jsxs)(`form`,{className:`pad row`,style:{borderBottom:`1px solid var(--line-soft)`},onSubmit:e=>{e.preventDefault(),o&&O.mutate()},children:[(0,Y.jsx)(z,{className:`grow`,style:{minWidth:`12rem`},placeholder:`name@example.com`,"aria-label":`Name`,value:o,onChange:e=>u(e.currentTarget.value)}),(0,Y.jsx)(C,{"aria-label":`Role`,value:g,data:$,onChange:e=>v(e.currentTarget.value)}),(0,Y.jsx)(d,{type:`submit`,disabled:!o,loading:O.isPending,leftSection:(0,Y.jsx)(B,{size:15}),children:`Add a user`})]}),M&&(0,Y.jsx)(`div`,{className:`pad`,children:(0,Y.jsx)(h,{error:M})}),(0,Y.jsx)(f,{query:n,children:t=>t.length===0?(0,Y.jsx)(_,{title:`No users yet`}):(0,Y.jsx)(`div`,{className:`rows`,children:t.map(t=>(0,Y.jsxs)(`div`,{children:[(0,Y.jsxs)(`span`,{className:`grow row`,children:[(0,Y.jsx)(`b`,{className:`cut`,children:t.name}),` `,t.disabled&&(0,Y.jsx)(m,{tone:`warn`,children:`off`}),` `,t.id===e?.user&&(0,Y.jsx)(m,{tone:`act`,children:`you`})]}),(0,Y.jsx)(C,{size:`xs`,className:`wide`,"aria-label":`Tier of ${t.name}`,value:t.tier,data:[...new Set([t.tier,...Object.keys(r.data?.tiers??{})])],onChange:e=>k.mutate({id:t.id,body:{tier:e.currentTarget.value}})}),(0,Y.jsxs)(`span`,{className:`small soft wide`,children:[`added `,(0,Y.jsx)(l,{at:t.created_at})]}),(0,Y.jsx)(C,{size:`xs`,"aria-label":`Role of ${t.name}`,value:t.role,data:$,onChange:e=>k.mutate({id:t.id,body:{role:e.currentTarget.value}})}),(0,Y.jsxs)(K,{label:`Actions for ${t.name}`,children:[(0,Y.jsx)(R.Item,{onClick:()=>j.mutate(t.id),children:`Create a sign-in link`}),(0,Y.jsx)(R.Item,{onClick:()=>k.mutate({id:t.id,body:{disabled:!t.disabled}}),children:t.disabled?`Enable the user`:`Disable the user`}),(0,Y.jsx)(R.Item,{onClick:()=>S(t),children:`History`})]})]},t.id))})}),b&&(0,Y.jsx)(q,{object:`user`,id:b.id,name:b.name,close:()=>S(null)}),(0,Y.jsx)(V,{opened:w!==null,onClose:()=>E(null),title:`One-time sign-in link`,size:`lg`,children:w&&(0,Y.jsxs)(`div`,{className:`stack`,children:[(0,Y.jsxs)(`p`,{className:`soft`,children:[`Anyone with this link can sign in once. It expires `,(0,Y.jsx)(l,{at:w.expires_at}),`.`]}),(0,Y.jsx)(A,{label:`Copy the link`,children:w.url})]})})]})}function ge(){let t=i().data,[n,r]=S(`tab`,`you`),a=e(t,`admin`),o=[[`you`,`Account`],[`connect`,`Connect a client`]];e(t,`keys:write`)&&o.push([`keys`,`Keys`]),a&&o.push([`users`,`Users`]),o.push([`limits`,`Limits`]),e(t,`servers:write`)&&o.push([`secrets`,`Secrets`]),e(t,`tools:read`)&&o.push([`files`,`Import and export`]),a&&t?.tenant==="default"&&o.push([`egress`,`Egress`],[`instance`,`Instance`]);let s=o.some(([e])=>e===n)?n:`you`;return(0,Y.jsxs)(Y.Fragment,{children:[(0,Y.jsx)(u,{title:`Settings`}),(0,Y.jsx)(g,{label:`Settings`,now:s,choose:r,tabs:o}),s===`you`&&t&&(0,Y.jsx)(X,{me:t}),s===`connect`&&(0,Y.jsx)(ie,{}),s===`keys`&&(0,Y.jsx)(de,{}),s===`users`&&a&&(0,Y.jsx)(he,{}),s===`limits`&&(0,Y.jsx)(fe,{}),s===`secrets`&&(0,Y.jsx)(me,{}),s===`files`&&(0,Y.jsx)(ae,{}),s===`egress`&&(0,Y.jsx)(M,{}),s===`instance`&&(0,Y.jsx)(ue,{})]})}export{ge as default};