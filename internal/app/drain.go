package app

import (
	"log/slog"
	"net/http"
	"time"
)

// seeEvery is how often it is looked whether calls have ended.
const seeEvery = 20 * time.Millisecond

// drain is what an instance does between being told to end and ending: it says
// that it is not ready, serves on until balancers have seen that, and then lets
// the calls that are under way come to their end. Streams are not waited for:
// their clients are told, and come back elsewhere. It gives what ended a listener
// meanwhile.
func (a *App) drain(failed <-chan error) error {
	a.draining.Store(true)
	if a.cfg.Drain == 0 {
		return nil
	}
	a.log.Info("told to end: not ready any more, and serving on for a while", slog.Duration("drain", a.cfg.Drain))
	served := time.NewTimer(a.cfg.Drain)
	defer served.Stop()
	select {
	case err := <-failed:
		return err
	case <-served.C:
	}
	late := time.NewTimer(a.cfg.CallTimeout)
	defer late.Stop()
	look := time.NewTicker(seeEvery)
	defer look.Stop()
	for a.guard.InFlight() > 0 {
		select {
		case err := <-failed:
			return err
		case <-late.C:
			a.log.Warn("some calls take longer than this instance may: they are cut off", slog.Int64("calls", a.guard.InFlight()))
			return nil
		case <-look.C:
		}
	}
	return nil
}

// leaving has clients close their connections once the instance was told to end,
// each behind an answer: the next request finds another replica, and none is lost
// on a connection that ends under it.
func (a *App) leaving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
