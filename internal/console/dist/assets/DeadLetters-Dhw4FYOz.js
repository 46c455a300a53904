<<<<<<<< HEAD:internal/console/dist/assets/DeadLetters-CenPjjlg.js
import{DeliveryList as e}from"./Deliveries-OGVcGI2c.js";import{t}from"./jsx-runtime-Wy9s6hX0.js";var n=t();function r(){return(0,n.jsx)(e,{title:`Dead letters`,sub:`Deliveries that were given up. Find out why, repair it, and replay them.`,state:`dead`})}export{r as default};
========
import{DeliveryList as e}from"./Deliveries-poGkjqc5.js";import{t}from"./jsx-runtime-Wy9s6hX0.js";var n=t();function r(){return(0,n.jsx)(e,{title:`Dead letters`,sub:`Deliveries that were given up. Find out why, repair it, and replay them.`,state:`dead`})}export{r as default};
>>>>>>>> wt-b:internal/console/dist/assets/DeadLetters-Dhw4FYOz.js
