// Package bench
package bench
