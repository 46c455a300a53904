// Package deploy holds what is in deploy/ against the real binary and against the
// programs that will read it: packages are installed, the unit is judged, the
// chart is rendered, and whatever names a setting or a metric names one that there
// is. And it has replicas drained and replaced, as a deployment does.
package deploy
