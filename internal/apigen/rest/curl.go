package rest

import (
	"maps"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

func readCurl(in *doc.Input) (*doc.Document, string) {
	all := commands(string(in.Text))
	curls := 0
	for _, c := range all {
		if isCurl(c) {
			curls++
		}
	}
	if curls == 0 || !isCurl(all[0]) && curls*2 < len(all) {
		return nil, "it does not begin with a curl command"
	}
	lines := plainLines(string(in.Text))
	var requests []*request
	var problems []doc.Problem
	report := func(at doc.Position, severity doc.Severity, code doc.Code, message, remedy string) {
		problems = append(problems, doc.Problem{At: at, Severity: severity, Code: code, Message: message, Remedy: remedy})
	}
	for _, c := range all {
		in.Meter().Spend(50)
		at := doc.Position{File: in.Name, Line: int32(c.line + 1), Column: 1} //nolint:gosec // at most 32 MB
		found := curl(c, at)
		switch {
		case len(found) > 0:
		case isCurl(c):
			report(at, doc.Error, doc.Missing, "this curl command names no URL", "write the URL that it asks")
		default:
			if found = named(lines[c.line], c.about, at); len(found) == 0 && !c.piped && !c.assigns && !slices.Equal(c.words, []string{"done"}) {
				report(at, doc.Hint, doc.UnknownValue, "this is no curl command: it is left out", "take it out")
			}
		}
		requests = append(requests, found...)
	}
	if len(requests) == 0 {
		return nil, "no curl command names a URL"
	}
	for _, r := range requests {
		r.nameIDs()
	}
	parameterise(requests)
	u := newUnreadLines(in, requests, problems)
	for i, line := range lines {
		u.look(line, i+1)
	}
	return document(doc.Curl, "API", requests, u.problems), ""
}

// named are the requests of a line that names them as pages do: GET https://….
func named(line, about string, at doc.Position) []*request {
	m, found := leadingMention(line)
	if !found {
		return nil
	}
	var all []*request
	for _, path := range m.paths {
		for _, method := range m.methods {
			r := &request{method: method, name: about, at: at}
			r.setURL(path, true, at)
			all = append(all, r)
		}
	}
	return all
}

func isCurl(c command) bool {
	words := c.words
	for len(words) > 0 && slices.Contains([]string{"$", ">", "%", "do", "then", "time", "sudo"}, words[0]) { // the prompt of a shell, and words before a command
		words = words[1:]
	}
	return len(words) > 0 && (words[0] == "curl" || strings.HasSuffix(words[0], "/curl") || words[0] == "curl.exe")
}

// Options of curl by what follows them.
func skipped() []string { // a value that is of no interest
	return []string{
		"-o", "--output", "-w", "--write-out", "-m", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "-x", "--proxy", "-E", "--cert", "--key", "--cacert",
		"-c", "--cookie-jar", "-A", "--user-agent", "-e", "--referer", "--resolve", "-K", "--config", "-r", "--range", "-b", "--cookie", "-D", "--dump-header", "--limit-rate", "--unix-socket", "--tls-max", "-y", "-Y", "-z",
	}
}

// curl reads a command: a request for each URL that it asks. There is none where
// it is no such command, or names no URL.
func curl(c command, at doc.Position) []*request {
	if !isCurl(c) {
		return nil
	}
	words := c.words[slices.IndexFunc(c.words, func(w string) bool { return strings.HasSuffix(w, "curl") || strings.HasSuffix(w, "curl.exe") })+1:]
	var all []*request
	for len(words) > 0 {
		part := words
		if i := slices.IndexFunc(words, func(w string) bool { return w == "--next" || w == "-:" }); i >= 0 {
			part, words = words[:i], words[i+1:]
		} else {
			words = nil
		}
		o := options{r: &request{name: c.about, at: at}, input: c.input}
		for i := 0; i < len(part); i++ {
			for _, f := range split(part[i]) {
				value := f.value
				if !f.joined && i+1 < len(part) {
					value = part[i+1]
				}
				if o.take(f.flag, value) && !f.joined {
					i++
				}
			}
		}
		all = append(all, o.done()...)
	}
	return all
}

// flag is an option of a command; joined is that its value is part of the word.
type flag struct {
	flag, value string
	joined      bool
}

// withValue are the options of one letter that have a value.
const withValue = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"

// split takes --flag=value, -Xvalue and -sSX apart.
func split(word string) []flag {
	if strings.HasPrefix(word, "--") {
		name, value, joined := strings.Cut(word, "=")
		return []flag{{name, value, joined}}
	}
	if len(word) < 2 || word[0] != '-' {
		return []flag{{flag: word}}
	}
	var all []flag
	for i := 1; i < len(word); i++ {
		if strings.IndexByte(withValue, word[i]) >= 0 {
			return append(all, flag{"-" + word[i:i+1], word[i+1:], i+1 < len(word)})
		}
		all = append(all, flag{flag: "-" + word[i:i+1]})
	}
	return all
}

// options is what was read of one command.
type options struct {
	r      *request
	urls   []string
	input  string // what the command reads
	data   []string
	media  string
	form   []field
	get    bool
	output bool // the word before was a redirection
}

// take takes one option and says whether its value is part of it.
func (o *options) take(flag, value string) bool {
	switch flag {
	case "-X", "--request":
		o.r.method = methodName(value)
	case "--url":
		o.urls = append(o.urls, value)
	case "-d", "--data", "--data-raw", "--data-ascii", "--data-binary", "--data-urlencode":
		o.data = append(o.data, value)
	case "--json":
		o.data, o.media = append(o.data, value), "application/json"
	case "-H", "--header":
		name, text, _ := strings.Cut(value, ":")
		if strings.EqualFold(strings.TrimSpace(name), "content-type") {
			o.media = strings.TrimSpace(text)
		} else if name != "" {
			o.r.addParam(&o.r.headers, doc.InHeader, strings.TrimSpace(name), strings.TrimSpace(text), o.r.at)
		}
	case "-F", "--form", "--form-string":
		name, text, _ := strings.Cut(value, "=")
		o.form = append(o.form, field{name: name, kind: kind("string"), file: strings.HasPrefix(text, "@") && flag != "--form-string", at: o.r.at})
	case "-u", "--user":
		o.r.scheme("basic", doc.Scheme{Type: "basic"})
	case "--oauth2-bearer":
		o.r.scheme("bearer", doc.Scheme{Type: "bearer"})
	case "-T", "--upload-file":
		o.r.method, o.media, o.data = "PUT", "application/octet-stream", append(o.data, "@"+value)
	case "-G", "--get":
		o.get = true
		return false
	case "-I", "--head":
		o.r.method = "HEAD"
		return false
	default:
		if slices.Contains(skipped(), flag) {
			return true
		}
		switch {
		case strings.HasPrefix(flag, "-"):
		case len(onlyMethods(flag)) == 1 && o.r.method == "": // curl GET https://…
			o.r.method = onlyMethods(flag)[0]
		case looksLikeURL(flag) && !o.output:
			url, _, _ := strings.Cut(flag, " ")
			o.urls = append(o.urls, url)
		}
		o.output = strings.HasSuffix(flag, ">")
		return false
	}
	return true
}

// looksLikeURL says whether a word of a command can be the URL that it asks.
func looksLikeURL(word string) bool {
	return strings.ContainsAny(word, "/.:") && strings.Trim(word, "./:") != "" || strings.HasPrefix(word, "$") && len(word) > 1 || strings.HasPrefix(word, "{{") || strings.HasPrefix(word, "localhost")
}

// done are the requests of the command, one for each URL.
func (o *options) done() []*request {
	var all []*request
	for _, url := range o.urls {
		r := *o.r
		r.headers, r.schemes = slices.Clone(r.headers), maps.Clone(r.schemes)
		if o.finish(&r, url); pattern().token.MatchString(r.method) {
			all = append(all, &r)
		}
	}
	return all
}

// finish fills in what follows from the URL and the data.
func (o *options) finish(r *request, url string) {
	if !pattern().opening.MatchString(url) && !strings.HasPrefix(url, "/") && !strings.HasPrefix(url, "$") && !strings.HasPrefix(url, "{") {
		url = "http://" + url // as curl does
	}
	if host, path, cut := strings.Cut(url, "/"); cut && (strings.HasPrefix(host, "$") || strings.HasPrefix(host, "{")) {
		url = "/" + path // $BASE/path
	}
	r.setURL(url, true, r.at)
	data := strings.Join(o.data, "&")
	switch {
	case o.get:
		r.addQuery(data, r.at)
	case len(o.form) > 0:
		r.body = &payload{media: "multipart/form-data", fields: o.form, at: r.at}
	case len(o.data) == 1 && strings.HasPrefix(data, "@-") && o.input != "":
		r.body = newPayload(o.media, o.input, r.at)
	case len(o.data) == 1 && strings.HasPrefix(data, "@"):
		r.body = &payload{media: mediaOf(o.media), at: r.at}
		if r.body.media == "" {
			r.body.media = "application/octet-stream"
		}
	case len(o.data) > 0:
		r.body = newPayload(o.media, data, r.at)
	}
	if r.method == "" {
		r.method = "GET"
		if r.body != nil {
			r.method = "POST"
		}
	}
}
