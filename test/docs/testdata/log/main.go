// Package main logs in ways that TestLogPagePlanted looks for.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"planted/internal/store"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	log.Info("started", "port", 1)
	log.Info(fmt.Sprintf("listening on %d", 1))
	log.Warn("cannot open " + os.Args[0])
	log.Error("cannot stop.")
	store.Warn(log, "cannot close the store", slog.String("file", "x"), store.ErrorAttr(nil))
	store.Warn(log, os.Args[0])
}
