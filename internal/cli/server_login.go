package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// loginPort is where a browser comes back to, where it is free: an authorization
// server that compares addresses to the letter knows the client again.
const loginPort = "8719"

func (c *cli) serverLogin() *cobra.Command {
	var paste, noBrowser, shared, trace bool
	cmd := &cobra.Command{
		Use: "login NAME", Short: "Log in to a server with a browser",
		Long: "Log in to a server that people log in to (junctor server add --oauth). It opens a browser where there is a display,\n" +
			"prints the address, and waits until the browser comes back to this machine. Where the browser is on another machine\n" +
			"it cannot: paste the address that it shows then.\n\n" +
			"The login is everybody's, or, of a server with --credentials per-user, your own: that takes a key of a user.",
		Example: "  junctor server login notes", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			login, err := c.logIn(cmd, args[0], paste, noBrowser, shared)
			if trace {
				if terr := c.printTraces(cmd, args[0], 2, c.err); terr != nil && err == nil {
					err = terr
				}
			}
			if err != nil {
				return err
			}
			return c.printLogin(args[0], login)
		}),
	}
	cmd.Flags().BoolVar(&paste, "paste", false, "wait for no browser: read the address that it was sent to from standard input")
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "open no browser: print the address alone")
	cmd.Flags().BoolVar(&shared, "shared", false, "of a server with credentials per-user: the server's own login, which its lists are read with")
	cmd.Flags().BoolVar(&trace, "trace", false, "show each step, and what came of it")
	c.remote(cmd)
	return cmd
}

// logIn runs a login from its beginning to its end.
func (c *cli) logIn(cmd *cobra.Command, name string, paste, noBrowser, shared bool) (login junctor.ServerLogin, err error) {
	in := admin.LoginStart{Shared: shared}
	answers := make(chan string, 2)
	var finished chan error
	if !paste {
		l, err := listenForBrowser(cmd.Context())
		if err != nil {
			return login, err
		}
		finished = make(chan error, 1)
		in.RedirectURI = "http://" + l.Addr().String() + "/callback"
		server := &http.Server{Handler: browserDoor(in.RedirectURI, answers, finished), ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(l) }()
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = server.Shutdown(ctx)
		}()
	}
	var started admin.LoginStarted
	if err := c.ask(cmd, http.MethodPost, path("servers", name, "login"), in, &started); err != nil {
		return login, err
	}
	c.show(cmd.Context(), started.AuthorizationURL, paste || noBrowser)
	if paste || isTerminal(c.in) {
		c.say("Where the browser ends at a page that it cannot show, paste the address of that page here:")
		go readAnswers(c.in, answers)
	}
	wait := time.NewTimer(time.Until(started.ExpiresAt))
	defer wait.Stop()
	for {
		select {
		case answer := <-answers:
			body := map[string]string{"login": started.Login, "url": answer}
			err = c.ask(cmd, http.MethodPost, path("servers", name, "login", "finish"), body, &login)
			if finished != nil {
				finished <- err
			}
			return login, err
		case <-wait.C:
			return login, said("nobody logged in within the time that a login has; run it again")
		case <-cmd.Context().Done():
			return login, cmd.Context().Err()
		}
	}
}

// show has a person open an address, with their browser where there is one here.
func (c *cli) show(ctx context.Context, address string, noBrowser bool) {
	if !noBrowser && proc.Browse(ctx, address) == nil {
		c.say("Log in with the browser that opens. Where none does, open this address:\n\n  %s\n", address)
		return
	}
	c.say("Open this address with a browser, and log in:\n\n  %s\n", address)
}

// listenForBrowser listens on this machine alone.
func listenForBrowser(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	if l, err := lc.Listen(ctx, "tcp", "127.0.0.1:"+loginPort); err == nil {
		return l, nil
	}
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "no port on this machine can be listened on for the browser: use --paste: %w", err)
	}
	return l, nil
}

// browserDoor takes a browser that comes back, and tells it how the login ended.
func browserDoor(base string, answers chan<- string, finished <-chan error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		select {
		case answers <- base + "?" + r.URL.RawQuery:
		default:
			w.WriteHeader(http.StatusConflict)
			return
		}
		select {
		case err := <-finished:
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				fmt.Fprintln(w, "The login failed; the terminal says why.")
				return
			}
			fmt.Fprintln(w, "You are logged in. This window can be closed.")
		case <-r.Context().Done():
		}
	})
	return mux
}

// readAnswers reads the address that a browser was sent to.
func readAnswers(in io.Reader, answers chan<- string) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<10)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if u, err := url.Parse(line); err == nil && u.RawQuery != "" {
			answers <- line
			return
		}
	}
}

func (c *cli) printLogin(name string, l junctor.ServerLogin) error {
	if c.json() {
		return c.printJSON(l)
	}
	renewed := "no"
	if l.Renewable {
		renewed = "yes"
	}
	return c.facts("server", name, "login", string(l.State), "user", l.User, "at", l.Issuer, "for", l.Resource, "client", l.ClientID, "scopes", strings.Join(l.Scopes, " "),
		"since", moment(l.Since), "token until", moment(l.ExpiresAt), "renewed by itself", renewed, "reason", l.Reason)
}

func (c *cli) serverLogout() *cobra.Command {
	var shared bool
	cmd := &cobra.Command{
		Use: "logout NAME", Short: "Log out of a server: its tokens are revoked and forgotten", Example: "  junctor server logout notes", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			to := path("servers", args[0], "login")
			if shared {
				to += "?shared=true"
			}
			if err := c.ask(cmd, http.MethodDelete, to, nil, nil); err != nil {
				return err
			}
			return c.done(map[string]string{"id": args[0], "state": "logged out"})
		}),
	}
	cmd.Flags().BoolVar(&shared, "shared", false, "of a server with credentials per-user: the server's own login")
	c.remote(cmd)
	return cmd
}

func (c *cli) serverTrace() *cobra.Command {
	var last int
	cmd := &cobra.Command{
		Use: "trace NAME", Short: "Show what the last logins and renewals at a server came to, step by step", Example: "  junctor server trace notes", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if c.json() {
				var all list[junctor.Trace]
				if err := c.ask(cmd, http.MethodGet, path("servers", args[0], "traces"), nil, &all); err != nil {
					return err
				}
				return c.printJSON(all)
			}
			return c.printTraces(cmd, args[0], last, c.out)
		}),
	}
	cmd.Flags().IntVar(&last, "last", 5, "how many, the newest")
	c.remote(cmd)
	return cmd
}

// printTraces prints the newest traces of a server, the oldest of them first.
func (c *cli) printTraces(cmd *cobra.Command, name string, most int, to io.Writer) error {
	var all list[junctor.Trace]
	if err := c.ask(cmd, http.MethodGet, path("servers", name, "traces"), nil, &all); err != nil {
		return err
	}
	items := all.Items[:min(max(most, 0), len(all.Items))]
	var errs []error
	for i := len(items) - 1; i >= 0; i-- {
		_, err := io.WriteString(to, printable(traceText(&items[i])))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func traceText(t *junctor.Trace) string {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		b.WriteString(strings.Repeat("  ", indent) + fmt.Sprintf(format, args...) + "\n")
	}
	mark := map[bool]string{true: "ok", false: "FAILED"}
	line(0, "%s  %s  %s: %s", moment(t.At), t.What, mark[t.OK], t.Verdict)
	if t.Remedy != "" {
		line(1, "to do: %s", t.Remedy)
	}
	for i, s := range t.Steps {
		line(1, "%d. %s: %s: %s", i+1, s.Name, mark[s.OK], s.Verdict)
		if s.Request != "" {
			answered := "no answer"
			if s.Status != 0 {
				answered = fmt.Sprintf("HTTP %d after %.0f ms", s.Status, s.TookMS)
			}
			line(2, "%s  (%s)", s.Request, answered)
		}
		for _, key := range slices.Sorted(maps.Keys(s.Sent)) {
			line(3, "%s = %s", key, s.Sent[key])
		}
		if s.Answer != "" {
			line(2, "answer: %s", firstLine(s.Answer, 400))
		}
		if s.Remedy != "" {
			line(2, "to do: %s", s.Remedy)
		}
	}
	return b.String()
}
