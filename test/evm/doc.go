// Package evm holds the reading of chains against go-ethereum's own. It is a
// module of its own, because that library is large and nothing else needs it.
package evm
