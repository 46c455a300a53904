<<<<<<< HEAD:internal/console/dist/assets/DeadLetters-CG5HZ1r7.js
<<<<<<<< HEAD:internal/console/dist/assets/DeadLetters-CenPjjlg.js
import{DeliveryList as e}from"./Deliveries-OGVcGI2c.js";import{t}from"./jsx-runtime-Wy9s6hX0.js";var n=t();function r(){return(0,n.jsx)(e,{title:`Dead letters`,sub:`Deliveries that were given up. Find out why, repair it, and replay them.`,state:`dead`})}export{r as default};
========
import{DeliveryList as e}from"./Deliveries-CGfH3-q2.js";import{t}from"./jsx-runtime-Wy9s6hX0.js";var n=t();function r(){return(0,n.jsx)(e,{title:`Dead letters`,sub:`Deliveries that were given up. Find out why, repair it, and replay them.`,state:`dead`})}export{r as default};
>>>>>>>> wt-a:internal/console/dist/assets/DeadLetters-CG5HZ1r7.js
=======
import{DeliveryList as e}from"./Deliveries-C6PkLphr.js";import{t}from"./jsx-runtime-Wy9s6hX0.js";var n=t();function r(){return(0,n.jsx)(e,{title:`Dead letters`,sub:`Deliveries that were given up. Find out why, repair it, and replay them.`,state:`dead`})}export{r as default};
>>>>>>> wt-a:internal/console/dist/assets/DeadLetters-BjL5LKwN.js
