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

// loginPort is the port that a browser is redirected to, if it is free. Some
// authorization servers compare redirect addresses exactly, so the same port
// lets them recognise the registered client.
const loginPort = "8719"

// serverLogin returns `server login`, which runs an OAuth login with a browser.
func (c *cli) serverLogin() *cobra.Command {
	var paste, noBrowser, shared, trace bool
	cmd := &cobra.Command{
		Use: "login NAME", Short: "Log in to a server with a browser",
		Long: "Log in to a server that was added with --oauth. The command opens a browser if there is a display, prints " +
			"the address, and waits until the browser returns to this machine. If the browser is on another machine, use " +
			"--paste and paste the address that it shows at the end.\n\n" +
			"The login is shared by all users. For a server with --credentials per-user it is your own, and the command " +
			"requires a key of a user: set JUNCTOR_URL and JUNCTOR_KEY.",
		Example: "  junctor server login notes", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			login, err := c.runLogin(cmd, args[0], paste, noBrowser, shared)
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
	cmd.Flags().BoolVar(&paste, "paste", false, "read the address that the browser was redirected to from standard input")
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the address without opening a browser")
	cmd.Flags().BoolVar(&shared, "shared", false, "with --credentials per-user: the shared login that tools are listed with")
	cmd.Flags().BoolVar(&trace, "trace", false, "show each step and its result")
	c.addInstanceFlags(cmd)
	return cmd
}

// runLogin runs a login from start to end. The browser comes back to a listener
// on this machine. If it runs on another machine, it cannot, so the user may
// also paste the address that it shows. The first answer is used. The login
// fails when its time is over or the command is interrupted.
func (c *cli) runLogin(cmd *cobra.Command, name string, paste, noBrowser, shared bool) (login junctor.ServerLogin, err error) {
	in := admin.LoginStart{Shared: shared}
	// Both ways of answering can send once without waiting for a reader.
	answers := make(chan string, 2)
	var finished chan error
	if !paste {
		l, err := listenForBrowser(cmd.Context())
		if err != nil {
			return login, err
		}
		finished = make(chan error, 1)
		in.RedirectURI = "http://" + l.Addr().String() + "/callback"
		server := &http.Server{Handler: newCallbackHandler(in.RedirectURI, answers, finished), ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(l) }()
		defer func() {
			// The browser still has to receive the result. The command's
			// context may have ended.
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = server.Shutdown(ctx)
		}()
	}
	var started admin.LoginStarted
	if err := c.requestAPI(cmd, http.MethodPost, apiPath("servers", name, "login"), in, &started); err != nil {
		return login, err
	}
	c.openAddress(cmd.Context(), started.AuthorizationURL, paste || noBrowser)
	// In a script, standard input is not the user's.
	if paste || isTerminal(c.in) {
		c.printNote("If the browser ends at a page that it cannot show, paste the address of that page here:")
		go readPastedAddress(c.in, answers)
	}
	wait := time.NewTimer(time.Until(started.ExpiresAt))
	defer wait.Stop()
	for {
		select {
		case answer := <-answers:
			body := map[string]string{"login": started.Login, "url": answer}
			err = c.requestAPI(cmd, http.MethodPost, apiPath("servers", name, "login", "finish"), body, &login)
			if finished != nil {
				// The browser's page waits for this result.
				finished <- err
			}
			return login, err
		case <-wait.C:
			return login, junctor.Errorf(junctor.CodeTimeout, "nobody logged in before the login expired; run the command again")
		case <-cmd.Context().Done():
			return login, junctor.Errorf(junctor.CodeCanceled, "the login was cancelled; run the command again")
		}
	}
}

// openAddress opens an address in a browser if there is one, and prints it in
// any case.
func (c *cli) openAddress(ctx context.Context, address string, noBrowser bool) {
	if !noBrowser && proc.OpenBrowser(ctx, address) == nil {
		c.printNote("Log in with the browser that opens. If none opens, open this address:\n\n  %s\n", address)
		return
	}
	c.printNote("Open this address with a browser, and log in:\n\n  %s\n", address)
}

// listenForBrowser listens on loopback, on loginPort or on any free port.
func listenForBrowser(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	if l, err := lc.Listen(ctx, "tcp", "127.0.0.1:"+loginPort); err == nil {
		return l, nil
	}
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnavailable, "no local port is available for the browser to return to: use --paste: %w", err)
	}
	return l, nil
}

// newCallbackHandler returns the handler that the browser is redirected to. It
// sends the address with its parameters to answers, waits for the result of the
// login on finished, and shows it. base is the redirect address. The address
// contains the authorization code, so the response must not be cached or
// framed.
func newCallbackHandler(base string, answers chan<- string, finished <-chan error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		select {
		// A second request, such as one of a prefetching browser, must not
		// block.
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

// readPastedAddress reads lines until one is a URL with a query, and sends it
// to answers.
func readPastedAddress(in io.Reader, answers chan<- string) {
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

// printLogin prints the state of a login. Tokens are not part of it.
func (c *cli) printLogin(name string, l junctor.ServerLogin) error {
	if c.wantsJSON() {
		return c.printJSON(l)
	}
	renewed := "no"
	if l.Renewable {
		renewed = "yes"
	}
	return c.printFacts("server", name, "login", string(l.State), "user", l.User, "at", l.Issuer, "for", l.Resource, "client", l.ClientID, "scopes", strings.Join(l.Scopes, " "),
		"since", formatTime(l.Since), "token until", formatTime(l.ExpiresAt), "renewed automatically", renewed, "reason", l.Reason)
}

// serverLogout returns `server logout`.
func (c *cli) serverLogout() *cobra.Command {
	var shared bool
	cmd := &cobra.Command{
		Use: "logout NAME", Short: "Log out of a server, and revoke and erase its tokens", Example: "  junctor server logout notes", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			to := apiPath("servers", args[0], "login")
			if shared {
				to += "?shared=true"
			}
			if err := c.requestAPI(cmd, http.MethodDelete, to, nil, nil); err != nil {
				return err
			}
			return c.printIfJSON(map[string]string{"id": args[0], "state": "logged out"})
		}),
	}
	cmd.Flags().BoolVar(&shared, "shared", false, "with --credentials per-user: the shared login that tools are listed with")
	c.addInstanceFlags(cmd)
	return cmd
}

// serverTrace returns `server trace`, which prints the steps of the last logins
// and renewals.
func (c *cli) serverTrace() *cobra.Command {
	var last int
	cmd := &cobra.Command{
		Use: "trace NAME", Short: "Show each step of the last logins and token renewals at a server", Example: "  junctor server trace notes", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeServers,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if c.wantsJSON() {
				var all listPage[junctor.Trace]
				if err := c.requestAPI(cmd, http.MethodGet, apiPath("servers", args[0], "traces"), nil, &all); err != nil {
					return err
				}
				return c.printJSON(all)
			}
			return c.printTraces(cmd, args[0], last, c.out)
		}),
	}
	cmd.Flags().IntVar(&last, "last", 5, "number of logins and renewals to show")
	c.addInstanceFlags(cmd)
	return cmd
}

// printTraces prints the newest traces of a server, at most most of them, in
// the order of time.
func (c *cli) printTraces(cmd *cobra.Command, name string, most int, to io.Writer) error {
	var all listPage[junctor.Trace]
	if err := c.requestAPI(cmd, http.MethodGet, apiPath("servers", name, "traces"), nil, &all); err != nil {
		return err
	}
	items := all.Items[:min(max(most, 0), len(all.Items))]
	var errs []error
	for i := len(items) - 1; i >= 0; i-- {
		_, err := io.WriteString(to, stripControls(formatTrace(&items[i])))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// formatTrace returns a trace as text, one line per step with what was sent and
// answered below it.
func formatTrace(t *junctor.Trace) string {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		b.WriteString(strings.Repeat("  ", indent) + fmt.Sprintf(format, args...) + "\n")
	}
	mark := map[bool]string{true: "ok", false: "FAILED"}
	// The first line sums up the trace.
	line(0, "%s  %s  %s: %s", formatTime(t.At), t.What, mark[t.OK], t.Verdict)
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
