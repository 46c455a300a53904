package rest

import (
	"regexp"
	"sync"
)

const (
	methodNames = `GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|QUERY`

	// writtenMethod and writtenMethods match methods as pages write them: alone
	// and in lists.
	writtenMethod  = `(?:` + methodNames + `|DEL)`
	writtenMethods = writtenMethod + `(?:\s*(?:[/,|&+]|\band\b|\bor\b)\s*` + writtenMethod + `\b)*`

	// otherMethods are words in the place of a method that no tool can be made
	// of.
	otherMethods = `ANY|ALL|CONNECT|TRACE|WS|WSS|SSE|PROPFIND|PROPPATCH|MKCOL|COPY|MOVE|LOCK|UNLOCK|PURGE|LINK|UNLINK|SEARCH|REPORT|SUBSCRIBE|UNSUBSCRIBE|NOTIFY|LIST|CREATE|UPDATE|REMOVE|UPSERT|READ|FETCH|BREW`

	// pathText matches a path or URL. Parameters in brackets may contain
	// spaces.
	pathText = `(?:https?://|/|\{\{?\s*[-\w.]+\s*\}?\}/|\$\{?\w+\}?/)(?:[^\s"'<>|` + "`" + `{}]|\{\{?[^{}\n]*\}?\}|<[-\w: ]+>)*`
)

// patternSet holds the regular expressions of this package.
type patternSet struct {
	atxHeading, fence, tableDelimiter, link, image, autolink, inlineTag, emphasis, listItem, sourceBlock, asciidocHeading, rstDirective, blueprintHead, blueprintAction, blueprintOther, blueprintItem, blueprintParam,
	blueprintMedia, specTag, specData, specCall, specLink, embedded, pageTag, placeholder, endpoint,
	pathFirst, wholeEndpoint, unknownVerb, method, methodsOnly, wildcard, httpVersion, leadingMarks, pathOnly, baseURL, basePath, baseLabel, baseWord,
	methodLabel, pathLabel, pairLabel, listParam, sendableMethod, methodToken, secretName, bracedParam, angledParam, typedParam, shellParam, colonParam, capitalsParam,
	urlScheme, numeric, uuid, hexHash, prefixedID, longToken, anyDigit, plainWord *regexp.Regexp
}

// patterns returns the regular expressions. They are compiled when the first
// document is read: most processes read none, and together they take half a
// megabyte.
var patterns = sync.OnceValue(func() *patternSet { //nolint:gochecknoglobals // it never changes
	return &patternSet{
		// Markdown.
		atxHeading:     regexp.MustCompile(`^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$`),
		fence:          regexp.MustCompile("^\\s*(```+|~~~+)\\s*([\\w+-]*)"),
		tableDelimiter: regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`),
		link:           regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`),
		image:          regexp.MustCompile(`!\[([^\]]*)\]\([^)]*\)`),
		autolink:       regexp.MustCompile(`<(https?://[^\s<>]+)>`),
		inlineTag:      regexp.MustCompile(`(?i)</?(?:a|b|strong|em|i|u|span|code|kbd|samp|tt|var|mark|small|sub|sup|font|p|div|br|img|h[1-6]|details|summary|ul|ol|li|pre|center|table|tbody|thead|tr|td|th|section|dl|dt|dd)(?:\s[^<>]*)?/?>`),
		emphasis:       regexp.MustCompile(`(^|[\s(])\*([^*\s][^*]*)\*($|[\s).,;:])`),
		listItem:       regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+`),

		// AsciiDoc and reStructuredText.
		sourceBlock:     regexp.MustCompile(`^\[(?:source|listing|literal)\b`),
		asciidocHeading: regexp.MustCompile(`^(={1,6})\s+(\S.*?)\s*=*$`),
		rstDirective:    regexp.MustCompile(`^\.\.\s+http:(get|post|put|patch|delete|head|options)::\s+(\S+)`),

		// API Blueprint.
		blueprintHead:   regexp.MustCompile(`^(#{1,6})\s*(.*?)\s*(?:\[\s*(?:(` + methodNames + `)\s*)?(/[^\]]*)?\s*\])?\s*$`),
		blueprintAction: regexp.MustCompile(`(?i)^(` + methodNames + `|DEL)(?:\s+(/\S*))?$`),
		blueprintOther:  regexp.MustCompile(`\[\s*([A-Z]+)(?:\s+/[^\]]*)?\s*\]\s*$`),
		blueprintItem:   regexp.MustCompile(`^(\s*)[+*-]\s+(.*)$`),
		blueprintParam:  regexp.MustCompile("^`?([\\w.%-]+)`?(?:\\s*[:=]\\s*`?([^`(]*?)`?)?\\s*(?:\\(([^)]*)\\))?\\s*(?:-\\s*(.*))?$"),
		blueprintMedia:  regexp.MustCompile(`\(([-\w.+/]+)[^)]*\)`),

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
		endpoint: regexp.MustCompile(`\b(` + writtenMethods + `)\b[\s:,=>→|*_\x60"')\]–—-]+` +
			`(?:(?:HTTP\s+)?(?:requests?|calls?|methods?)\s+)?(?:(?:to|on|at|against|from)\s+)?(?:the\s+)?(?:(?:endpoint|url|route|path)\s*)?[:=>→|–—\s-]*["'\x60(<\[]*(` + pathText + `)`),
		pathFirst:     regexp.MustCompile(`^[\s>*+\x60-]*(` + pathText + `)[\s\x60*]*[-–—:]*[\s\x60*]*[(\[]?\s*(` + writtenMethods + `)\b\s*[)\]]?[\s\x60*]*(?:[-–—:].*)?$`),
		wholeEndpoint: regexp.MustCompile(`(?i)^(` + writtenMethods + `)[\s:\x60]+((?:https?://|/)[^\s\x60]*|[\w.~-]+/[^\s\x60]*|[\w.~-]+(?:\s+HTTP/[0-9.]+))(?:\s*[\x60(–—:-]+(.*)|\s+HTTP/.*)?$`),
		unknownVerb:   regexp.MustCompile(`^[\s>*+#|\x60\[-]*(?:\d+[.)]\s+)?\b(` + otherMethods + `)\b[\s:\x60*|\]-]+["'\x60]*(?:https?://|/)[\w{:<]`),
		method:        regexp.MustCompile(`\b` + writtenMethod + `\b`),
		methodsOnly:   regexp.MustCompile(`(?i)^` + writtenMethod + `(?:(?:[\s/,|&+\x60]|\band\b|\bor\b)+` + writtenMethod + `)*$`),
		wildcard:      regexp.MustCompile(`/\*|\*$|/\.\.\.|/…`),
		httpVersion:   regexp.MustCompile(`^\s*HTTP/[0-9.]+`),
		leadingMarks:  regexp.MustCompile(`^(?:[\s>*+#|$\x60"'(\[_-]|//|\d+[.)]\s|\[[ xX]\]|https?\s)*$`),
		pathOnly:      regexp.MustCompile(`^[\x60\s]*(` + pathText + `)[\x60\s]*$`),
		baseURL: regexp.MustCompile(`(?i)\b(?:(?:base|root)[\s_-]*(?:url|uri|path|endpoint|address|host)?|(?:service|api)[\s_-]*(?:url|uri|base|endpoint|address|root|host|server)|server(?:\s+url)?|host(?:name)?|hosted\s+(?:at|on|under)|` +
			`(?:runs?|running|available|listens?|listening|served|answers?|reachable|lives?)\s+(?:at|on|from|under)|requests?\s+(?:are|is|go|should\s+be|must\s+be)?\s*(?:made|sent)?\s*to)\b(?:\W|\b(?:is|are|at|url|of|the|api)\b){0,14}?(https?://[^\s"'<>)\x60|]+)`),
		basePath:    regexp.MustCompile(`(?i)\b(?:base[\s_-]*(?:url|uri|path|endpoint)|path\s+prefix|(?:url|route|common)\s+prefix|prefixed\s+(?:with|by)|(?:endpoints|paths|routes|urls|calls)\s+(?:are\s+|live\s+)?(?:relative\s+to|under|below|(?:begin|start)\s+with))\b(?:\W|\b(?:is|are|at|the)\b){0,8}?(/[\w./-]+)`),
		baseLabel:   regexp.MustCompile(`(?i)^\W*(?:base|root|api|service)\s*(?:url|uri|path|endpoint|address|host)s?\W*$`),
		baseWord:    regexp.MustCompile(`(?i)\b(?:base|root|server|service|host)[\s_-]*(?:url|uri|endpoint|path|address)?[\s\x60]*[:=|]`),
		methodLabel: regexp.MustCompile(`(?i)\b(?:methods?|verb)\b[\s\x60]*[:=|][\s\x60"]*(` + writtenMethods + `)\b`),
		pathLabel:   regexp.MustCompile(`(?i)\b(?:endpoint|url|uri|path|route|resource)\b[\s\x60]*[:=|][\s\x60"<]*((?:https?://|/)[^\s\x60"',]*)`),
		pairLabel:   regexp.MustCompile(`(?i)^\W*((?:(?:http|request)\s+)?(?:method|verb)|(?:(?:api|request|resource)\s+)?(?:endpoint|url|uri|path|route))\W*$`),
		listParam:   regexp.MustCompile("^(?:[-*+]|\\d+\\.)\\s+(?:`([-\\w.\\[\\]]+)`|\\*\\*([-\\w.]+)\\*\\*|([-\\w.]+)(?:\\s*\\())[^\\w(]*(?:\\(?([^):–—]*)\\)?)?\\s*[-:–—]?\\s*(.*)$"),

		sendableMethod: regexp.MustCompile(`^(` + methodNames + `)$`),
		methodToken:    regexp.MustCompile(`^[A-Za-z][A-Za-z-]*$`),

		secretName: regexp.MustCompile(`(?i)^(x-)?(api[-_]?key|apikey|access[-_]?key|access[-_]?token|auth[-_]?token|id[-_]?token|refresh[-_]?token|session([-_]?id)?|token|secret|client[-_]?secret|password|passwd|signature|sig|csrf[-_]?token|xsrf[-_]?token)$|(?i)[-_](api[-_]?key|token|secret)$`),

		// Ways to write a parameter inside a URL, and values that name one thing among many.
		bracedParam:   regexp.MustCompile(`\{\{?\s*[-A-Za-z_$][-\w.$ ]*\s*\}?\}`),                                                                                          // {id} and {{id}}
		angledParam:   regexp.MustCompile(`<([-A-Za-z_][-\w. ]*)>`),                                                                                                        // <id>
		typedParam:    regexp.MustCompile(`^(?:\((?:[a-z]+:)?([A-Za-z_]\w*)\)|<[a-z]+:([A-Za-z_]\w*)>|\{\+?([A-Za-z_][-\w]*)(?:\*|:[^{}]*)\}|\[\.{0,3}([A-Za-z_]\w*)\])$`), // (int:id), <int:id>, {id:int}, [id]
		capitalsParam: regexp.MustCompile(`^(?:(?:YOUR|MY|your|my)[-_]([A-Za-z][-\w]*)|((?:[A-Z]+_)*(?:ID|UUID|SLUG|NAME)))$`),                                             // YOUR_USER_ID, USER_ID
		shellParam:    regexp.MustCompile(`\$\{?([A-Za-z_]\w*)\}?`),                                                                                                        // $ID and ${ID}
		colonParam:    regexp.MustCompile(`^:([A-Za-z_][-\w]*)$`),                                                                                                          // :id, a segment of its own
		urlScheme:     regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`),
		numeric:       regexp.MustCompile(`^[0-9]+$`),
		uuid:          regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
		hexHash:       regexp.MustCompile(`(?i)^[0-9a-f]{8,}$`),
		prefixedID:    regexp.MustCompile(`^[A-Za-z]+[-_][A-Za-z0-9_-]{10,}$`),
		longToken:     regexp.MustCompile(`^[A-Za-z0-9_-]{20,}$`),
		anyDigit:      regexp.MustCompile(`[0-9]`),
		plainWord:     regexp.MustCompile(`^[a-z]+([-_.][a-z]+)*$`),
	}
})
