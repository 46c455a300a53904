<<<<<<<< HEAD:internal/console/dist/assets/DeadLetters-CSL79JDF.js
import{DeliveryList as e}from"./Deliveries-BHc3HuaR.js";import{t}from"./jsx-runtime-Wy9s6hX0.js";var n=t();function r(){return(0,n.jsx)(e,{title:`Dead letters`,sub:`Deliveries whose attempts all failed. Fix the cause, then replay them.`,state:`dead`})}export{r as default};
========
import{DeliveryList as e}from"./Deliveries-DzsWwi2-.js";import{t}from"./jsx-runtime-Wy9s6hX0.js";var n=t();function r(){return(0,n.jsx)(e,{title:`Dead letters`,sub:`Deliveries whose attempts all failed. Fix the cause, then replay them.`,state:`dead`})}export{r as default};
>>>>>>>> wt-d:internal/console/dist/assets/DeadLetters-B-b7SIre.js
