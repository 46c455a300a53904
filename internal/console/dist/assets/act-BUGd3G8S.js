<<<<<<<< HEAD:internal/console/dist/assets/act-DwRmeOfG.js
import{t as e}from"./useMutation-NdSre-71.js";import{F as t,L as n}from"./states-CXBhWneI.js";function r(r){let i=n();return e({mutationFn:e=>t(`POST`,`/deliveries/actions`,{action:e.action,...e.which}),onSuccess:e=>r?.(e.count),onSettled:()=>Promise.all([i.invalidateQueries({queryKey:[`deliveries`]}),i.invalidateQueries({queryKey:[`endpoints`]})])})}export{r as t};
========
import{t as e}from"./useMutation-BG38HqDt.js";import{F as t,L as n}from"./states-CXBhWneI.js";function r(r){let i=n();return e({mutationFn:e=>t(`POST`,`/deliveries/actions`,{action:e.action,...e.which}),onSuccess:e=>r?.(e.count),onSettled:()=>Promise.all([i.invalidateQueries({queryKey:[`deliveries`]}),i.invalidateQueries({queryKey:[`endpoints`]})])})}export{r as t};
>>>>>>>> wt-b:internal/console/dist/assets/act-BUGd3G8S.js
