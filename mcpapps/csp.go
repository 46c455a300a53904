package mcpapps

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Limits of the declarations of a page. The policy leaves out what exceeds them.
const (
	maxSources      = 64  // in one list
	maxSourceLength = 300 // of one source
)

// Validate returns an error for each declared source that [Policy.HeaderValue] would
// leave out; nil if all are valid.
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

// FilterInvalid returns a copy of c with only the valid sources: those that a host grants
// and announces to the View in its capabilities. It returns nil for nil.
func (c *CSP) FilterInvalid() *CSP {
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

// Policy holds the settings of a host that complete the declarations of a page.
type Policy struct {
	// FrameAncestors are the origins that may embed the page in a frame. By
	// default, none may.
	FrameAncestors []string
	// Eval allows eval and WebAssembly, which some frameworks need. Set it only for
	// pages that a person approved.
	AllowEval bool
	// Opaque gives the page an opaque origin. Use it if the host cannot serve each
	// page from an origin of its own.
	OpaqueOrigin bool
	// ReportURI receives the browser's reports of violations: a path or an http
	// URL. An invalid one is left out.
	ReportURI string
}

// HeaderValue returns the value of Content-Security-Policy for a page that declares c;
// nil declares nothing. It includes only sources that are origins with an optional
// path. A declaration can therefore not add a directive, a keyword or a wildcard
// for all hosts.
func (p Policy) HeaderValue(c *CSP) string {
	if c == nil {
		c = &CSP{}
	}
	// A page is a single file with inline scripts and styles, so 'unsafe-inline' is
	// needed. Everything that is not declared stays forbidden by default-src.
	resources := keepValidSources(c.ResourceDomains)
	script := []string{"'self'", "'unsafe-inline'"}
	if p.AllowEval {
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
	if p.OpaqueOrigin {
		directive("sandbox", []string{"allow-scripts", "allow-forms"})
	}
	if reportPathPattern.MatchString(p.ReportURI) || checkSource(p.ReportURI) == nil {
		directive("report-uri", []string{p.ReportURI})
	}
	return b.String()
}

// ConnectionAllowlist returns the value of the Connection-Allowlist header: the
// origins to which the page may open any connection. It also covers WebRTC, which a
// content security policy does not restrict.
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

// sourcesOr returns the sources, or a keyword if there are none.
func sourcesOr(sources []string, keyword string) []string {
	if len(sources) == 0 {
		return []string{keyword}
	}
	return sources
}

// keepValidSources returns the valid sources within the limit; nil for nil.
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

// sourcePattern describes a source: scheme, host, optional port and path. It has no
// place for keywords, bare schemes, spaces, quotes, semicolons or commas. It ends
// with \z and not with $, which would allow a line break behind it.
var sourcePattern = regexp.MustCompile(`\A(https?|wss?)://(\*\.)?([A-Za-z0-9.-]+)(?::([0-9]{1,5}|\*))?(/[A-Za-z0-9._~%/@:+=!&-]*)?\z`)

// reportPathPattern describes a path for reports.
var reportPathPattern = regexp.MustCompile(`\A/[A-Za-z0-9._~/-]*\z`)

// checkSource returns an error if a source is invalid.
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
