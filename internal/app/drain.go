package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// seeEvery is how often drain checks whether calls have ended.
const seeEvery = 20 * time.Millisecond

// drain runs between the signal to stop and the end: it reports not ready,
// serves until balancers have noticed, and then waits for running calls, those
// that other replicas have forwarded too. It does not wait for streams: their
// clients are notified and reconnect to another replica. It returns the error of
// a listener that failed in the meantime.
func (a *App) drain(failed <-chan error) error {
	a.draining.Store(true)
	if a.cfg.Drain > 0 {
		a.log.Info("shutting down: not ready, and serving for --drain", slog.Duration("drain", a.cfg.Drain))
		served := time.NewTimer(a.cfg.Drain)
		defer served.Stop()
		select {
		case err := <-failed:
			return err
		case <-served.C:
		}
	}
	// A busy instance would never be without calls.
	a.guard.BeginDrain()
	a.servers.BeginDrain()
	if calls := a.runningCalls(); calls > 0 && a.cfg.DrainCalls > 0 {
		a.log.Info("shutting down: waiting for running calls", slog.Int64("calls", calls), slog.Duration("drain_calls", a.cfg.DrainCalls))
	}
	if ended, err := a.awaitCalls(failed, a.cfg.DrainCalls); ended || err != nil {
		return err
	}
	a.log.Warn("--drain-calls elapsed: canceling the calls that still run", slog.Int64("calls", a.runningCalls()), slog.Duration("drain_calls", a.cfg.DrainCalls))
	why := &junctor.Error{
		Code: junctor.CodeUnavailable, TimeLimit: &junctor.TimeLimit{Name: "drain_calls", SetBy: junctor.LimitOfInstance, Limit: a.cfg.DrainCalls},
		Message: fmt.Sprintf("the instance stopped before the call ended (--drain-calls %s); the call may have taken effect, so repeat it only if that is safe", a.cfg.DrainCalls),
	}
	a.servers.EndForwarded(why)
	a.guard.EndCalls(why)
	// Each call is answered and recorded.
	_, err := a.awaitCalls(failed, closeFor)
	return err
}

// runningCalls returns how many calls run here that began before the drain.
func (a *App) runningCalls() int64 {
	return a.guard.EarlierCalls() + a.servers.EarlierForwardedCalls()
}

// awaitCalls waits until the calls that began before the drain have ended, for a bounded time. ended reports whether
// that came true.
func (a *App) awaitCalls(failed <-chan error, most time.Duration) (ended bool, err error) {
	if a.runningCalls() == 0 {
		return true, nil
	}
	late := time.NewTimer(most)
	defer late.Stop()
	look := time.NewTicker(seeEvery)
	defer look.Stop()
	for {
		select {
		case err := <-failed:
			return false, err
		case <-late.C:
			return false, nil
		case <-look.C:
		}
		if a.runningCalls() == 0 {
			return true, nil
		}
	}
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
