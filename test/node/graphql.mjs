// A GraphQL server over the schema in a file that answers every query with
// something of the right kind, and says in its extensions what it was asked to
// do: node graphql.mjs FOLDER-OF-NODE_MODULES SCHEMA. It prints its address.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const g = createRequire(`${process.argv[2]}/`)('graphql')
const schema = g.buildSchema(readFileSync(process.argv[3], 'utf8'), { assumeValid: true, assumeValidSDL: true })

function something(type) {
  if (g.isNonNullType(type)) return something(type.ofType)
  if (g.isListType(type)) return [something(type.ofType)]
  if (g.isEnumType(type)) return type.getValues()[0].value
  if (g.isScalarType(type)) return { Int: 1, Float: 1.5, Boolean: true }[type.name] ?? 'text'
  if (g.isAbstractType(type)) return { __typename: schema.getPossibleTypes(type)[0]?.name }
  return {}
}

async function answer(text) {
  const { query, variables, operationName } = JSON.parse(text)
  const document = g.parse(query)
  const errors = g.validate(schema, document)
  if (errors.length > 0) return { errors }
  const operation = g.getOperationAST(document, operationName)
  const ran = [] // mutations: fields of the mutation type, or of those that stand for a part of it, which only lead there
  const part = (type) => type === schema.getMutationType() || type.name.endsWith('Mutation')
  const fieldResolver = (_, __, ___, info) => {
    if (part(info.parentType) && !part(g.getNamedType(info.returnType))) ran.push(`${info.parentType.name}.${info.fieldName}`)
    return something(info.returnType)
  }
  const done = await g.execute({ schema, document, variableValues: variables, operationName, fieldResolver })
  const extensions = { operation: operation.operation, fields: operation.selectionSet.selections.length, ran }
  return { ...done, extensions }
}

const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  let body
  try {
    body = await answer(text)
  } catch (error) {
    body = { errors: [{ message: String(error) }] }
  }
  response.writeHead(200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
})
process.stdin.resume()
process.stdin.on('end', () => process.exit(0)) // it ends with the process that started it
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/graphql`))
