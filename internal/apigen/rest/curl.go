package rest

import (
	"maps"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// readCurl is the Reader of texts that consist of curl commands.
func readCurl(in *doc.Input) (*doc.Document, string) {
	all := splitCommands(string(in.Text))
	curls := 0
	for _, c := range all {
		if isCurl(c) {
			curls++
		}
	}
	// A text is taken if it begins with curl, or if at least half of its
	// commands are curl.
	if curls == 0 || !isCurl(all[0]) && curls*2 < len(all) {
		return nil, "it does not begin with a curl command"
	}
	lines := splitLines(string(in.Text))
	var requests []*request
	var problems []doc.Problem
	report := func(at doc.Position, severity doc.Severity, code doc.Code, message, remedy string) {
		problems = append(problems, doc.Problem{At: at, Severity: severity, Code: code, Message: message, Remedy: remedy})
	}
	for _, c := range all {
		in.Meter().Spend(50)
		at := doc.Position{File: in.Name, Line: int32(c.line + 1), Column: 1} //nolint:gosec // at most 32 MB
		found := parseCurl(c, at)
		switch {
		case len(found) > 0:
		case isCurl(c):
			report(at, doc.Error, doc.Missing, "this curl command has no URL", "write the URL of the request")
		default:
			if found = namedRequests(lines[c.line], c.comment, at); len(found) == 0 && !c.isPiped && !c.isAssignment && !slices.Equal(c.words, []string{"done"}) {
				report(at, doc.Hint, doc.UnknownValue, "this is not a curl command: it is ignored", "remove it")
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
	findPathParameters(requests)
	u := newUnreadLines(in, requests, problems)
	for i, line := range lines {
		u.checkLine(line, i+1)
	}
	return makeDocument(doc.Curl, "API", requests, u.problems), ""
}

// namedRequests returns the requests of a line that names them as pages do: GET
// https://….
func namedRequests(line, about string, at doc.Position) []*request {
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

// isCurl reports whether a command is curl, also after the prompt of a shell.
func isCurl(c shellCommand) bool {
	words := c.words
	// Examples often include the prompt of the shell, and words before the command.
	for len(words) > 0 && slices.Contains([]string{"$", ">", "%", "do", "then", "time", "sudo"}, words[0]) {
		words = words[1:]
	}
	return len(words) > 0 && (words[0] == "curl" || strings.HasSuffix(words[0], "/curl") || words[0] == "curl.exe")
}

// ignoredOptions are the options of curl whose value does not matter here.
func ignoredOptions() []string {
	return []string{
		"-o", "--output", "-w", "--write-out", "-m", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "-x", "--proxy", "-E", "--cert", "--key", "--cacert",
		"-c", "--cookie-jar", "-A", "--user-agent", "-e", "--referer", "--resolve", "-K", "--config", "-r", "--range", "-b", "--cookie", "-D", "--dump-header", "--limit-rate", "--unix-socket", "--tls-max", "-y", "-Y", "-z",
	}
}

// parseCurl returns a request for each URL of a curl command. There is none if
// it is another command, or names no URL.
func parseCurl(c shellCommand, at doc.Position) []*request {
	if !isCurl(c) {
		return nil
	}
	words := c.words[slices.IndexFunc(c.words, func(w string) bool { return strings.HasSuffix(w, "curl") || strings.HasSuffix(w, "curl.exe") })+1:]
	var all []*request
	for len(words) > 0 {
		// --next separates several requests in one command.
		part := words
		if i := slices.IndexFunc(words, func(w string) bool { return w == "--next" || w == "-:" }); i >= 0 {
			part, words = words[:i], words[i+1:]
		} else {
			words = nil
		}
		o := curlOptions{request: &request{name: c.comment, at: at}, stdin: c.stdin}
		for i := 0; i < len(part); i++ {
			for _, f := range splitFlags(part[i]) {
				value := f.value
				if !f.joined && i+1 < len(part) {
					value = part[i+1]
				}
				if o.takeOption(f.name, value) && !f.joined {
					i++
				}
			}
		}
		all = append(all, o.makeRequests()...)
	}
	return all
}

// commandFlag is an option of a command. joined means that the value is part of
// the same word.
type commandFlag struct {
	name, value string
	joined      bool
}

// flagsWithValue are the options of one letter that have a value.
const flagsWithValue = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"

// splitFlags splits --flag=value, -Xvalue and -sSX into their options.
func splitFlags(word string) []commandFlag {
	if strings.HasPrefix(word, "--") {
		name, value, joined := strings.Cut(word, "=")
		return []commandFlag{{name, value, joined}}
	}
	if len(word) < 2 || word[0] != '-' {
		return []commandFlag{{name: word}}
	}
	var all []commandFlag
	for i := 1; i < len(word); i++ {
		if strings.IndexByte(flagsWithValue, word[i]) >= 0 {
			return append(all, commandFlag{"-" + word[i:i+1], word[i+1:], i+1 < len(word)})
		}
		all = append(all, commandFlag{name: "-" + word[i:i+1]})
	}
	return all
}

// curlOptions collects the options of one command.
type curlOptions struct {
	// request has the parts that do not depend on the URL. makeRequests copies
	// it for each URL.
	request *request
	urls    []string
	// stdin is the text that the command reads.
	stdin string
	// data are the values of -d and the like. curl joins them with "&".
	data []string
	// media is the Content-Type, by a header or by --json.
	media string
	// form are the fields of a multipart body (-F).
	form []requestField
	// asQuery sends the data as the query (-G).
	asQuery bool
	// afterRedirect is set if the word before was a redirection, so that a file
	// name is not taken for a URL.
	afterRedirect bool
}

// takeOption takes one option. It reports whether value belongs to it.
func (o *curlOptions) takeOption(flag, value string) bool {
	switch flag {
	case "-X", "--request":
		o.request.method = normalizeMethod(value)
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
			o.request.addParam(&o.request.headers, doc.InHeader, strings.TrimSpace(name), strings.TrimSpace(text), o.request.at)
		}
	case "-F", "--form", "--form-string":
		name, text, _ := strings.Cut(value, "=")
		o.form = append(o.form, requestField{name: name, shape: shapeOfType("string"), file: strings.HasPrefix(text, "@") && flag != "--form-string", at: o.request.at})
	case "-u", "--user":
		o.request.addScheme("basic", doc.Scheme{Type: "basic"})
	case "--oauth2-bearer":
		o.request.addScheme("bearer", doc.Scheme{Type: "bearer"})
	case "-T", "--upload-file":
		// An upload is a PUT by default; the content of the file is unknown.
		o.request.method, o.media, o.data = "PUT", "application/octet-stream", append(o.data, "@"+value)
	case "-G", "--get":
		o.asQuery = true
		return false
	case "-I", "--head":
		o.request.method = "HEAD"
		return false
	default:
		if slices.Contains(ignoredOptions(), flag) {
			return true
		}
		switch {
		case strings.HasPrefix(flag, "-"):
		// Some write the method without -X: curl GET https://….
		case len(parseMethodsOnly(flag)) == 1 && o.request.method == "":
			o.request.method = parseMethodsOnly(flag)[0]
		case looksLikeURL(flag) && !o.afterRedirect:
			url, _, _ := strings.Cut(flag, " ")
			o.urls = append(o.urls, url)
		}
		o.afterRedirect = strings.HasSuffix(flag, ">")
		return false
	}
	return true
}

// looksLikeURL reports whether a word of a command can be its URL.
func looksLikeURL(word string) bool {
	return strings.ContainsAny(word, "/.:") && strings.Trim(word, "./:") != "" || strings.HasPrefix(word, "$") && len(word) > 1 || strings.HasPrefix(word, "{{") || strings.HasPrefix(word, "localhost")
}

// makeRequests returns the requests of the command, one for each URL.
func (o *curlOptions) makeRequests() []*request {
	var all []*request
	for _, url := range o.urls {
		r := *o.request
		r.headers, r.schemes = slices.Clone(r.headers), maps.Clone(r.schemes)
		if o.completeRequest(&r, url); patterns().methodToken.MatchString(r.method) {
			all = append(all, &r)
		}
	}
	return all
}

// completeRequest sets the URL, the body and the default method of a request.
func (o *curlOptions) completeRequest(r *request, url string) {
	if !patterns().urlScheme.MatchString(url) && !strings.HasPrefix(url, "/") && !strings.HasPrefix(url, "$") && !strings.HasPrefix(url, "{") {
		// curl takes an address without a scheme as http.
		url = "http://" + url
	}
	if host, path, cut := strings.Cut(url, "/"); cut && (strings.HasPrefix(host, "$") || strings.HasPrefix(host, "{")) {
		// The host is a variable, as in $BASE/path; the page may name it
		// elsewhere.
		url = "/" + path
	}
	r.setURL(url, true, r.at)
	data := strings.Join(o.data, "&")
	switch {
	case o.asQuery:
		r.addQuery(data, r.at)
	case len(o.form) > 0:
		r.body = &requestBody{media: "multipart/form-data", fields: o.form, at: r.at}
	// The data comes from a here-document.
	case len(o.data) == 1 && strings.HasPrefix(data, "@-") && o.stdin != "":
		r.body = newRequestBody(o.media, o.stdin, r.at)
	// The data comes from a file that is not part of the text.
	case len(o.data) == 1 && strings.HasPrefix(data, "@"):
		r.body = &requestBody{media: baseMedia(o.media), at: r.at}
		if r.body.media == "" {
			r.body.media = "application/octet-stream"
		}
	case len(o.data) > 0:
		r.body = newRequestBody(o.media, data, r.at)
	}
	if r.method == "" {
		r.method = "GET"
		if r.body != nil {
			r.method = "POST"
		}
	}
}
