package hostile

import (
	"fmt"
	"strings"
)

// openAPI is a document with these paths and components.
func openAPI(paths, components string) string {
	return `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":[{"url":"https://h.example"}],"paths":{` + paths + `},"components":{"schemas":{` + components + `}}}`
}

func post(path, schema string) string {
	return fmt.Sprintf(`%q:{"post":{"requestBody":{"content":{"application/json":{"schema":%s}}},"responses":{"200":{"description":"ok","content":{"application/json":{"schema":%s}}}}}}`, path, schema, schema)
}

// Documents gives documentation of APIs, in every format that is read.
func Documents() []Case {
	var cases []Case
	add := func(name, text string) { cases = append(cases, Case{name, text}) }
	const next = `{"$ref":"#/components/schemas/NEXT"}`
	ok := `{"get":{"responses":{"200":{"description":"ok"}}}}`
	for _, n := range []int{50, 500, 5000} {
		sized := func(name string) string { return fmt.Sprintf("%s %d", name, n) }
		add(sized("same variable"), openAPI(`"/`+strings.Repeat("{a}", n)+`":`+ok, ""))
		add(sized("variables"), openAPI(`"/`+repeat(n, "{a%d}/")+`":`+ok, ""))
		add(sized("alike variables"), openAPI(`"/`+repeat(n, "{a.%d}")+`":{"parameters":[{"name":"a","in":"path"}`+repeat(n, `,{"name":"A-%d","in":"path","schema":{"type":"string"}}`)+`],"get":{}}`, ""))
		add(sized("names that become one"), openAPI(`"/`+func() string {
			var b strings.Builder
			for i := range n {
				b.WriteString("{" + strings.Repeat("é", i%60+1) + strings.Repeat("ö", i/60) + "}")
			}
			return b.String()
		}()+`":`+ok, ""))
		add(sized("self pointers"), openAPI(`"/z":{"$ref":"#/paths/~1z/x"}`+repeat(n, `,"/a%d":{"$ref":"#/paths/~1a%d/x/y"}`), `"s":{"$ref":"#/components/schemas/s/x"}`))
		add(sized("open braces"), openAPI(`"/`+strings.Repeat("{", n)+`":`+ok, ""))
		add(sized("segments"), openAPI(`"`+strings.Repeat("/a", n)+`":`+ok, ""))
		add(sized("parameters"), openAPI(`"/a":{"get":{"parameters":[{"name":"z","in":"query"}`+repeat(n, `,{"name":"p%d","in":"query","description":"d d d d","schema":{"type":"string"}}`)+`]}}`, ""))
		add(sized("headers"), openAPI(`"/a":{"get":{"parameters":[{"name":"z","in":"query"}`+repeat(n, `,{"name":"x y %d","in":"header","required":true,"schema":{"enum":["a","b","c"]}}`)+`]}}`, ""))
		add(sized("required fields"), openAPI(post("/a", `{"type":"object","properties":{"z":{}`+repeat(n, `,"p%d":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`)+`},"required":["z"`+repeat(n, `,"p%d"`)+`]}`), ""))
		add(sized("operations"), openAPI(`"/z":`+ok+repeat(n, `,"/a/%d":{"get":{"operationId":"same"}}`), ""))
		add(sized("operations of one schema"), openAPI(`"/z":`+ok+repeat(n, `,"/a/%d":{"get":{"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"$ref":"#/components/schemas/a0"}}}}}}}`), chained(40, `{"properties":{"x":`+next+`,"y":`+next+`}}`)))
		add(sized("path items"), openAPI(`"/z":`+ok+repeat(n, `,"/b/%d":{"$ref":"#/paths/~1z"}`), ""))
		add(sized("tags"), openAPI(`"/a":{"get":{"tags":["z"`+repeat(n, `,"t%d"`)+`]}}`, ""))
		add(sized("responses"), openAPI(`"/a":{"get":{"responses":{"200":{}`+repeat(n, `,"x%d":{"description":"d"}`)+`}}}`, ""))
		add(sized("servers"), `{"openapi":"3.0.0","info":{"title":"t","version":"1"},"servers":[{"url":"https://`+repeat(n, "{v%d}")+`","variables":{"v":{"default":"a"}`+repeat(n, `,"v%d":{"default":"{v0}"}`)+`}}],"paths":{"/a":`+ok+`}}`)
		add(sized("security"), `{"openapi":"3.0.0","info":{"title":"t","version":"1"},"security":[{}`+repeat(n, `,{"s%d":[]}`)+`],"paths":{"/a":`+ok+repeat(min(n, 500), `,"/b%d":{"get":{"parameters":[{"name":"token","in":"query"}]}}`)+`},"components":{"securitySchemes":{"z":{"type":"http","scheme":"basic"}`+repeat(n, `,"s%d":{"type":"apiKey","in":"query","name":"k%d"}`)+`}}}`)
		add(sized("chain"), openAPI(post("/a", `{"$ref":"#/components/schemas/a0"}`), chained(n, next)))
		add(sized("chain of allOf"), openAPI(post("/a", `{"$ref":"#/components/schemas/a0"}`), chained(n, `{"allOf":[`+next+`,`+next+`]}`)))
		add(sized("doubling fields"), openAPI(post("/a", `{"$ref":"#/components/schemas/a0"}`), chained(n, `{"type":"object","properties":{"x":`+next+`,"y":`+next+`},"required":["x","y"]}`)))
		add(sized("doubling choices"), openAPI(post("/a", `{"$ref":"#/components/schemas/a0"}`), chained(n, `{"anyOf":[`+next+`,{"properties":{"x":`+next+`}}],"oneOf":[`+next+`,`+next+`]}`)))
		add(sized("cycles"), openAPI(post("/a", `{"$ref":"#/components/schemas/s0"}`), `"z":{}`+repeat(n, `,"s%d":{"properties":{"a":{"$ref":"#/components/schemas/s0"},"b":{"$ref":"#/components/schemas/s%d"}},"required":["a"]}`)))
		add(sized("all to all"), openAPI(post("/a", `{"$ref":"#/components/schemas/s0"}`), `"z":{}`+repeat(min(n, 300), `,"s%d":{"properties":{"z":{}`+strings.ReplaceAll(repeat(min(n, 300), `,"p%d":{"$ref":"#/components/schemas/s%d"}`), "%", "%%")+`},"required":["p0","p1","p2"]}`)))
		add(sized("choices"), openAPI(post("/a", `{"allOf":[{"anyOf":[{}`+repeat(n, `,{"properties":{"p%d":{}}}`)+`]},{"anyOf":[{}`+repeat(n, `,{"properties":{"q%d":{}}}`)+`]},{"oneOf":[{}`+repeat(n, `,{"properties":{"r%d":{}}}`)+`]}]}`), ""))
		add(sized("enum"), openAPI(post("/a", `{"properties":{"e":{"allOf":[{"enum":["z"`+repeat(n, `,"v%d"`)+`]},{"enum":["z"`+repeat(n, `,"v%d"`)+`]}]}}}`), ""))
		add(sized("deep"), openAPI(post("/a", strings.Repeat(`{"properties":{"x":`, n)+`{}`+strings.Repeat("}}", n)), ""))
		add(sized("aliases"), "openapi: 3.1.0\ninfo: {title: t, version: '1'}\nx-a0: &a0 [x]\n"+func() string {
			var b strings.Builder
			for i := range min(n, 60) {
				fmt.Fprintf(&b, "x-a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9), i)
			}
			return b.String()
		}()+"paths: {/a: {get: {tags: *a"+fmt.Sprint(min(n, 60))+"}}}\n")
		add(sized("merges"), "openapi: 3.1.0\nx-a: &a {z: 1}\n"+repeat(n, "x-a%d: &a%d\n  <<: *a\n  k%d: 1\n")+"paths: {/a: {get: {}}}\n")
		add(sized("flow yaml"), "openapi: 3.1.0\npaths: "+strings.Repeat("{a: ", n)+strings.Repeat("}", n)+"\n")
		add(sized("swagger"), `{"swagger":"2.0","host":"h.example","paths":{"/`+repeat(n, "{a%d}")+`":{"post":{"parameters":[{"in":"body","name":"b","schema":{"$ref":"#/definitions/a0"}}`+repeat(n, `,{"name":"f%d","in":"formData","type":"string"}`)+`]}}},"definitions":{`+chained(min(n, 500), `{"allOf":[{"$ref":"#/definitions/NEXT"},{"$ref":"#/definitions/NEXT"}]}`)+`}}`)
		add(sized("graphql inputs"), "type Query { a(i: I0): T0 }\n"+func() string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "input I%d { x: I%d! y: I%d! }\ntype T%d { x: T%d y: [T%d!]! z(i: I0): T%d }\n", i, (i+1)%n, (i+1)%n, i, (i+1)%n, (i+1)%n, i)
			}
			return b.String()
		}())
		add(sized("graphql fields"), "type Query { z: Int "+repeat(n, "f%d(a: Int, b: [I!]): T ")+"}\ninput I { i: [I!] }\ntype T { z: Int t: T "+repeat(min(n, 500), "g%d: T ")+"}\n")
		add(sized("graphql unions"), "type Query { u: U }\ntype Z { z: Int }\nunion U = Z "+repeat(n, "| T%d ")+"\n"+repeat(n, "type T%d implements N { u: U n: N }\n")+"interface N { n: N }\n")
		add(sized("graphql nesting"), "type Query { a: "+strings.Repeat("[", n)+"Int"+strings.Repeat("]", n)+" }\n")
		add(sized("postman folders"), `{"info":{"schema":"https://schema.getpostman.com/json/collection/v2.1.0/"},"item":[`+strings.Repeat(`{"name":"f","item":[`, n)+strings.Repeat(`]}`, n)+`]}`)
		add(sized("postman requests"), `{"info":{"schema":"https://schema.getpostman.com/json/collection/v2.1.0/"},"variable":[{"key":"a","value":"{{a}}{{a}}"}`+repeat(n, `,{"key":"v%d","value":"{{v%d}}{{a}}"}`)+`],"item":[{"name":"z","request":{"method":"GET","url":"{{a}}/{{v0}}"}}`+repeat(n, `,{"name":"a","request":{"method":"POST","url":"https://h.example/x/%d/{{v%d}}","body":{"mode":"raw","raw":"{\"a\":[{\"b\":%d}]}"}}}`)+`]}`)
		add(sized("har"), `{"log":{"entries":[{"request":{"method":"GET","url":"https://h.example/"}}`+repeat(n, `,{"request":{"method":"POST","url":"https://h.example/a/%d/b?c=%d","postData":{"mimeType":"application/json","text":"{\"k%d\":{\"a\":1}}"}},"response":{"status":200,"content":{"mimeType":"application/json","text":"[{\"r%d\":1}]"}}}`)+`]}}`)
		add(sized("markdown"), "# A\n\n"+repeat(n, "## `GET https://h.example/a%d/{x}`\n\n| name | type |\n|---|---|\n| p%d | string |\n\n"))
		add(sized("markdown of one shape"), strings.Repeat("GET /a/{b}/{c} ", n)+"\n"+strings.Repeat("| ", n)+"\n"+strings.Repeat("|-", n)+"\n"+strings.Repeat("`", n)+strings.Repeat("[", n)+strings.Repeat("](", n))
		add(sized("html"), "<html><body>"+strings.Repeat("<div><table><tr><td>", n)+"GET https://h.example/a"+strings.Repeat("<h2>POST https://h.example/b/{c}</h2>", n)+"</body></html>")
		add(sized("html scripts"), "<html><body>"+strings.Repeat("<script>SwaggerUIBundle({", n)+strings.Repeat("<!--", n)+strings.Repeat("<redoc spec-url=", n)+"</body></html>")
		add(sized("blueprint"), "FORMAT: 1A\nHOST: https://h.example\n# Group A\n"+repeat(n, "## R [/r%d/{a}{?b,c}]\n### Get [GET]\n+ Parameters\n    + a (required, string)\n\n+ Response 200 (application/json)\n\n        {\"a\":1}\n\n"))
		add(sized("curl"), repeat(n, "curl -X PUT https://h.example/c/%d -H 'X: y' --data '{\"a\":%d}'\n")+"curl "+strings.Repeat("'", n)+strings.Repeat(`\\`, n))
	}
	return cases
}
