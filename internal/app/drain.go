package app

import (
	"log/slog"
	"net/http"
	"time"
)

// seeEvery is how often drain checks whether calls have ended.
const seeEvery = 20 * time.Millisecond

// drain runs between the signal to stop and the end: it reports not ready,
// serves until balancers have noticed, and then waits for running calls. It
// does not wait for streams: their clients are notified and reconnect to
// another replica. It returns the error of a listener that failed in the
// meantime.
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

// leaving makes clients close their connections during shutdown, each after a
// response: the next request goes to another replica, and none is lost on a
// connection that is closed under it.
func (a *App) leaving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
