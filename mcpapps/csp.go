package mcpapps

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Limits of what a page may declare; more is left out of the policy.
const (
	maxSources      = 64  // in one list
	maxSourceLength = 300 // of one source
)

// Validate says what is wrong with the declared hosts: one error for each that
// [Policy.Header] leaves out.
func (c *CSP) Validate() error {
	if c == nil {
		return nil
	}
	var errs []error
	for _, list := range []struct {
		name    string
		sources []string
	}{
		{"connectDomains", c.ConnectDomains},
		{"resourceDomains", c.ResourceDomains},
		{"frameDomains", c.FrameDomains},
		{"baseUriDomains", c.BaseURIDomains},
	} {
		for i, s := range list.sources {
			if i >= maxSources {
				errs = append(errs, fmt.Errorf("mcpapps: csp.%s has %d sources; the first %d are used", list.name, len(list.sources), maxSources))
				break
			}
			if err := checkSource(s); err != nil {
				errs = append(errs, fmt.Errorf("mcpapps: csp.%s[%d]: %w", list.name, i, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Allowed is c without what [CSP.Validate] complains about: what a host grants,
// and tells the View in its capabilities. That of nil is nil.
func (c *CSP) Allowed() *CSP {
	if c == nil {
		return nil
	}
	return &CSP{
		ConnectDomains:  keepValidSources(c.ConnectDomains),
		ResourceDomains: keepValidSources(c.ResourceDomains),
		FrameDomains:    keepValidSources(c.FrameDomains),
		BaseURIDomains:  keepValidSources(c.BaseURIDomains),
	}
}

// Policy is what a host adds to what a page declares.
type Policy struct {
	// FrameAncestors are the origins that may show the page in a frame. Without
	// any, nobody may.
	FrameAncestors []string
	// Eval allows eval and WebAssembly: the compatible profile. It is for pages
	// that a person approved.
	Eval bool
	// Opaque takes the page's origin away, for hosts that have no name to give
	// each page.
	Opaque bool
	// ReportURI is where browsers report violations: a path or an http URL.
	ReportURI string
}

// Header is the value of Content-Security-Policy for a page that declares c;
// nil declares nothing. Sources that are not plain origins, with an optional
// path, are left out, so nothing in a declaration can add a directive, a
// keyword or a wildcard for everything.
func (p Policy) Header(c *CSP) string {
	if c == nil {
		c = &CSP{}
	}
	resources := keepValidSources(c.ResourceDomains)
	script := []string{"'self'", "'unsafe-inline'"}
	if p.Eval {
		script = append(script, "'unsafe-eval'", "'wasm-unsafe-eval'")
	}
	var b strings.Builder
	directive := func(name string, always []string, sources ...string) {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(name)
		for _, s := range slices.Concat(always, sources) {
			b.WriteByte(' ')
			b.WriteString(s)
		}
	}
	local := []string{"'self'", "data:", "blob:"}
	directive("default-src", []string{"'none'"})
	directive("script-src", script, resources...)
	directive("style-src", []string{"'self'", "'unsafe-inline'"}, resources...)
	directive("img-src", local, resources...)
	directive("font-src", local, resources...)
	directive("media-src", local, resources...)
	directive("worker-src", []string{"'self'", "blob:"})
	directive("connect-src", sourcesOr(keepValidSources(c.ConnectDomains), "'none'"))
	directive("frame-src", sourcesOr(keepValidSources(c.FrameDomains), "'none'"))
	directive("base-uri", sourcesOr(keepValidSources(c.BaseURIDomains), "'self'"))
	directive("object-src", []string{"'none'"})
	directive("form-action", []string{"'none'"})
	directive("frame-ancestors", sourcesOr(keepValidSources(p.FrameAncestors), "'none'"))
	if p.Opaque {
		directive("sandbox", []string{"allow-scripts", "allow-forms"})
	}
	if reportPathPattern.MatchString(p.ReportURI) || checkSource(p.ReportURI) == nil {
		directive("report-uri", []string{p.ReportURI})
	}
	return b.String()
}

// ConnectionAllowlist is the value of the header of that name: whereto the page
// may open connections at all, WebRTC included, which no policy stops.
func (c *CSP) ConnectionAllowlist() string {
	var b strings.Builder
	b.WriteString("(response-origin")
	if c != nil {
		seen := map[string]bool{}
		for _, list := range [][]string{c.ConnectDomains, c.ResourceDomains, c.FrameDomains, c.BaseURIDomains} {
			for _, s := range keepValidSources(list) {
				scheme, rest, _ := strings.Cut(s, "://")
				host, _, _ := strings.Cut(rest, "/")
				if origin := scheme + "://" + host; !seen[origin] {
					seen[origin] = true
					b.WriteString(` "` + origin + `"`)
				}
			}
		}
	}
	b.WriteByte(')')
	return b.String()
}

func sourcesOr(sources []string, keyword string) []string {
	if len(sources) == 0 {
		return []string{keyword}
	}
	return sources
}

func keepValidSources(sources []string) []string {
	if sources == nil {
		return nil
	}
	good := []string{}
	for _, s := range sources[:min(len(sources), maxSources)] {
		if checkSource(s) == nil {
			good = append(good, s)
		}
	}
	return good
}

// A source is scheme, host and perhaps port and path. Keywords, schemes alone,
// spaces, quotes, semicolons and commas have no place in it. \z and not $: a
// line end must not hide behind one.
var sourcePattern = regexp.MustCompile(`\A(https?|wss?)://(\*\.)?([A-Za-z0-9.-]+)(?::([0-9]{1,5}|\*))?(/[A-Za-z0-9._~%/@:+=!&-]*)?\z`)

var reportPathPattern = regexp.MustCompile(`\A/[A-Za-z0-9._~/-]*\z`)

func checkSource(s string) error {
	if len(s) > maxSourceLength {
		return fmt.Errorf("%.40q… is longer than %d characters", s, maxSourceLength)
	}
	parts := sourcePattern.FindStringSubmatch(s)
	if parts == nil {
		return fmt.Errorf("%q is no source: write scheme and host, like https://api.example.com or wss://*.example.com:8443", s)
	}
	wildcard, host, port := parts[2] != "", parts[3], parts[4]
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return fmt.Errorf("%q: %q is no host name", s, host)
		}
	}
	if wildcard && len(labels) < 2 {
		return fmt.Errorf("%q: a wildcard needs a domain of two names or more", s)
	}
	if port != "" && port != "*" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("%q: %s is no port", s, port)
		}
	}
	return nil
}
