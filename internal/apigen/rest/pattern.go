package rest

import (
	"regexp"
	"sync"
)

const (
	methods = `GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|QUERY`

	// written are methods as pages write them, alone and several at once.
	written     = `(?:` + methods + `|DEL)`
	writtenList = written + `(?:\s*(?:[/,|&+]|\band\b|\bor\b)\s*` + written + `\b)*`

	// others are words that stand in the place of a method, and are none that a
	// tool can be made of.
	others = `ANY|ALL|CONNECT|TRACE|WS|WSS|SSE|PROPFIND|PROPPATCH|MKCOL|COPY|MOVE|LOCK|UNLOCK|PURGE|LINK|UNLINK|SEARCH|REPORT|SUBSCRIBE|UNSUBSCRIBE|NOTIFY|LIST|CREATE|UPDATE|REMOVE|UPSERT|READ|FETCH|BREW`

	// pathText is a path or URL: parameters may be in brackets with spaces.
	pathText = `(?:https?://|/|\{\{?\s*[-\w.]+\s*\}?\}/|\$\{?\w+\}?/)(?:[^\s"'<>|` + "`" + `{}]|\{\{?[^{}\n]*\}?\}|<[-\w: ]+>)*`
)

// patterns are what texts are looked at with.
type patterns struct {
	atx, fence, delimiter, link, image, autolink, inlineTag, emphasis, item, sourceBlock, section, directive, blueprintHead, blueprintAction, blueprintOther, blueprintItem, blueprintParam,
	blueprintMedia, fetchCall, httpie, assignment, variableBase, specTag, specData, specCall, specLink, embedded, pageTag, placeholder, endpoint,
	pathFirst, whole, unknownVerb, method, methodsOnly, wildcard, version, marks, pathOnly, baseURL, basePath, baseLabel, baseWord,
	methodLabel, pathLabel, label, listParam, verb, token, sensitive, braced, angled, typed, shell, colon, capitals,
	opening, numeric, uuid, hash, prefixed, long, digit, wordlike *regexp.Regexp
}

// pattern gives the patterns. They are compiled when the first document is read:
// most processes read none, and together they take half a megabyte.
var pattern = sync.OnceValue(func() *patterns { //nolint:gochecknoglobals // it never changes
	return &patterns{
		// Markdown.
		atx:       regexp.MustCompile(`^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$`),
		fence:     regexp.MustCompile("^\\s*(```+|~~~+)\\s*([\\w+-]*)"),
		delimiter: regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`),
		link:      regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`),
		image:     regexp.MustCompile(`!\[([^\]]*)\]\([^)]*\)`),
		autolink:  regexp.MustCompile(`<(https?://[^\s<>]+)>`),
		inlineTag: regexp.MustCompile(`(?i)</?(?:a|b|strong|em|i|u|span|code|kbd|samp|tt|var|mark|small|sub|sup|font|p|div|br|img|h[1-6]|details|summary|ul|ol|li|pre|center|table|tbody|thead|tr|td|th|section|dl|dt|dd)(?:\s[^<>]*)?/?>`),
		emphasis:  regexp.MustCompile(`(^|[\s(])\*([^*\s][^*]*)\*($|[\s).,;:])`),
		item:      regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+`),

		// AsciiDoc and reStructuredText.
		sourceBlock: regexp.MustCompile(`^\[(?:source|listing|literal)\b`),
		section:     regexp.MustCompile(`^(={1,6})\s+(\S.*?)\s*=*$`),
		directive:   regexp.MustCompile(`^\.\.\s+http:(get|post|put|patch|delete|head|options)::\s+(\S+)`),

		// API Blueprint.
		blueprintHead:   regexp.MustCompile(`^(#{1,6})\s*(.*?)\s*(?:\[\s*(?:(` + methods + `)\s*)?(/[^\]]*)?\s*\])?\s*$`),
		blueprintAction: regexp.MustCompile(`(?i)^(` + methods + `|DEL)(?:\s+(/\S*))?$`),
		blueprintOther:  regexp.MustCompile(`\[\s*([A-Z]+)(?:\s+/[^\]]*)?\s*\]\s*$`),
		blueprintItem:   regexp.MustCompile(`^(\s*)[+*-]\s+(.*)$`),
		blueprintParam:  regexp.MustCompile("^`?([\\w.%-]+)`?(?:\\s*[:=]\\s*`?([^`(]*?)`?)?\\s*(?:\\(([^)]*)\\))?\\s*(?:-\\s*(.*))?$"),
		blueprintMedia:  regexp.MustCompile(`\(([-\w.+/]+)[^)]*\)`),

		// Programs.
		fetchCall:    regexp.MustCompile(`["'\x60](` + pathText + `)["'\x60].*\bmethod["']?\s*[:=]\s*["'](` + written + `)["']`),
		variableBase: regexp.MustCompile(`^(?:\$\{?\w+\}?|\{\{?\s*[-\w.]+\s*\}?\})/`),
		assignment:   regexp.MustCompile(`^[A-Za-z_]\w*=`),
		httpie:       regexp.MustCompile(`\bhttps?\s+(` + written + `)\s+((?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(?::\d+)?/[^\s"'\x60]*)`),

		// Where pages that draw a document say which.
		specTag:  regexp.MustCompile(`(?is)<(?:redoc|rapi-doc|elements-api|rapi-pdf)\b[^>]*?\b(?:spec-url|apiDescriptionUrl)\s*=\s*["']([^"']+)["']`),
		specData: regexp.MustCompile(`(?is)<script\b[^>]*?\bid\s*=\s*["']api-reference["'][^>]*?\bdata-url\s*=\s*["']([^"']+)["']`),
		specCall: regexp.MustCompile(`(?is)(?:SwaggerUIBundle|SwaggerUi|Redoc\.init|RedocStandalone|createApiReference)\s*\(.{0,400}?(?:\burl["']?\s*:\s*)?["']([^"'\s]+\.(?:json|ya?ml)[^"'\s]*|[^"'\s]*(?:openapi|swagger|api-docs)[^"'\s]*)["']`),
		specLink: regexp.MustCompile(`(?is)<link\b[^>]*?\brel\s*=\s*["'](?:service-desc|describedby)["'][^>]*?\bhref\s*=\s*["']([^"']+)["']`),
		embedded: regexp.MustCompile(`(?is)<script\b[^>]*>(.*?)</script>`),
		pageTag:  regexp.MustCompile(`(?is)^\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|div|h[1-6]|p|table|section|article|main)\b`),

		// A place for a value inside a body.
		placeholder: regexp.MustCompile(`"?(\{\{[^{}]*\}\}|<[A-Za-z_][-\w ]*>)"?`),

		// What pages say.
		endpoint: regexp.MustCompile(`\b(` + writtenList + `)\b[\s:,=>→|*_\x60"')\]–—-]+` +
			`(?:(?:HTTP\s+)?(?:requests?|calls?|methods?)\s+)?(?:(?:to|on|at|against|from)\s+)?(?:the\s+)?(?:(?:endpoint|url|route|path)\s*)?[:=>→|–—\s-]*["'\x60(<\[]*(` + pathText + `)`),
		pathFirst:   regexp.MustCompile(`^[\s>*+\x60-]*(` + pathText + `)[\s\x60*]*[-–—:]*[\s\x60*]*[(\[]?\s*(` + writtenList + `)\b\s*[)\]]?[\s\x60*]*(?:[-–—:].*)?$`),
		whole:       regexp.MustCompile(`(?i)^(` + writtenList + `)[\s:\x60]+((?:https?://|/)[^\s\x60]*|[\w.~-]+/[^\s\x60]*|[\w.~-]+(?:\s+HTTP/[0-9.]+))(?:\s*[\x60(–—:-]+(.*)|\s+HTTP/.*)?$`),
		unknownVerb: regexp.MustCompile(`^[\s>*+#|\x60\[-]*(?:\d+[.)]\s+)?\b(` + others + `)\b[\s:\x60*|\]-]+["'\x60]*(?:https?://|/)[\w{:<]`),
		method:      regexp.MustCompile(`\b` + written + `\b`),
		methodsOnly: regexp.MustCompile(`(?i)^` + written + `(?:(?:[\s/,|&+\x60]|\band\b|\bor\b)+` + written + `)*$`),
		wildcard:    regexp.MustCompile(`/\*|\*$|/\.\.\.|/…`),
		version:     regexp.MustCompile(`^\s*HTTP/[0-9.]+`),
		marks:       regexp.MustCompile(`^(?:[\s>*+#|$\x60"'(\[_-]|//|\d+[.)]\s|\[[ xX]\]|https?\s)*$`),
		pathOnly:    regexp.MustCompile(`^[\x60\s]*(` + pathText + `)[\x60\s]*$`),
		baseURL: regexp.MustCompile(`(?i)\b(?:(?:base|root)[\s_-]*(?:url|uri|path|endpoint|address|host)?|(?:service|api)[\s_-]*(?:url|uri|base|endpoint|address|root|host|server)|server(?:\s+url)?|host(?:name)?|hosted\s+(?:at|on|under)|` +
			`(?:runs?|running|available|listens?|listening|served|answers?|reachable|lives?)\s+(?:at|on|from|under)|requests?\s+(?:are|is|go|should\s+be|must\s+be)?\s*(?:made|sent)?\s*to)\b(?:\W|\b(?:is|are|at|url|of|the|api)\b){0,14}?(https?://[^\s"'<>)\x60|]+)`),
		basePath:    regexp.MustCompile(`(?i)\b(?:base[\s_-]*(?:url|uri|path|endpoint)|path\s+prefix|(?:url|route|common)\s+prefix|prefixed\s+(?:with|by)|(?:endpoints|paths|routes|urls|calls)\s+(?:are\s+|live\s+)?(?:relative\s+to|under|below|(?:begin|start)\s+with))\b(?:\W|\b(?:is|are|at|the)\b){0,8}?(/[\w./-]+)`),
		baseLabel:   regexp.MustCompile(`(?i)^\W*(?:base|root|api|service)\s*(?:url|uri|path|endpoint|address|host)s?\W*$`),
		baseWord:    regexp.MustCompile(`(?i)\b(?:base|root|server|service|host)[\s_-]*(?:url|uri|endpoint|path|address)?[\s\x60]*[:=|]`),
		methodLabel: regexp.MustCompile(`(?i)\b(?:methods?|verb)\b[\s\x60]*[:=|][\s\x60"]*(` + writtenList + `)\b`),
		pathLabel:   regexp.MustCompile(`(?i)\b(?:endpoint|url|uri|path|route|resource)\b[\s\x60]*[:=|][\s\x60"<]*((?:https?://|/)[^\s\x60"',]*)`),
		label:       regexp.MustCompile(`(?i)^\W*((?:(?:http|request)\s+)?(?:method|verb)|(?:(?:api|request|resource)\s+)?(?:endpoint|url|uri|path|route))\W*$`),
		listParam:   regexp.MustCompile("^(?:[-*+]|\\d+\\.)\\s+(?:`([-\\w.\\[\\]]+)`|\\*\\*([-\\w.]+)\\*\\*|([-\\w.]+)(?:\\s*\\())[^\\w(]*(?:\\(?([^):–—]*)\\)?)?\\s*[-:–—]?\\s*(.*)$"),

		verb:  regexp.MustCompile(`^(` + methods + `)$`),
		token: regexp.MustCompile(`^[A-Za-z][A-Za-z-]*$`),

		sensitive: regexp.MustCompile(`(?i)^(x-)?(api[-_]?key|apikey|access[-_]?key|access[-_]?token|auth[-_]?token|id[-_]?token|refresh[-_]?token|session([-_]?id)?|token|secret|client[-_]?secret|password|passwd|signature|sig|csrf[-_]?token|xsrf[-_]?token)$|(?i)[-_](api[-_]?key|token|secret)$`),

		// Ways to write a parameter inside a URL, and values that name one thing among many.
		braced:   regexp.MustCompile(`\{\{?\s*[-A-Za-z_$][-\w.$ ]*\s*\}?\}`),                                                                                          // {id} and {{id}}
		angled:   regexp.MustCompile(`<([-A-Za-z_][-\w. ]*)>`),                                                                                                        // <id>
		typed:    regexp.MustCompile(`^(?:\((?:[a-z]+:)?([A-Za-z_]\w*)\)|<[a-z]+:([A-Za-z_]\w*)>|\{\+?([A-Za-z_][-\w]*)(?:\*|:[^{}]*)\}|\[\.{0,3}([A-Za-z_]\w*)\])$`), // (int:id), <int:id>, {id:int}, [id]
		capitals: regexp.MustCompile(`^(?:(?:YOUR|MY|your|my)[-_]([A-Za-z][-\w]*)|((?:[A-Z]+_)*(?:ID|UUID|SLUG|NAME)))$`),                                             // YOUR_USER_ID, USER_ID
		shell:    regexp.MustCompile(`\$\{?([A-Za-z_]\w*)\}?`),                                                                                                        // $ID and ${ID}
		colon:    regexp.MustCompile(`^:([A-Za-z_][-\w]*)$`),                                                                                                          // :id, a segment of its own
		opening:  regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`),
		numeric:  regexp.MustCompile(`^[0-9]+$`),
		uuid:     regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
		hash:     regexp.MustCompile(`(?i)^[0-9a-f]{8,}$`),
		prefixed: regexp.MustCompile(`^[A-Za-z]+[-_][A-Za-z0-9_-]{10,}$`),
		long:     regexp.MustCompile(`^[A-Za-z0-9_-]{20,}$`),
		digit:    regexp.MustCompile(`[0-9]`),
		wordlike: regexp.MustCompile(`^[a-z]+([-_.][a-z]+)*$`),
	}
})
