package policy

import (
	"hash/maphash"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// Bounds of one condition. A condition that exceeds those of the first group is
// refused when it is saved; the others end its evaluation.
const (
	maxConditionBytes = 8 << 10
	maxConditionNodes = 2000
	maxConditionDepth = 60
	maxRegexProgram   = 20_000

	maxEstimatedCost = 2_000_000 // of CEL's cost units, with the sizes of sizeEstimator
	maxRunCost       = 2_000_000 // the same, counted while the condition runs
)

// Compiler compiles and checks rules. It is safe for concurrent use. Making one takes
// milliseconds, so a process has one.
type Compiler struct {
	common  *cel.Env // without args: each tool extends it with the type of its own
	untyped *cel.Env // with args of any type
	cache   ruleCache
	seed    maphash.Seed // of the hashes of tools' schemas
}

// NewCompiler makes a Compiler.
func NewCompiler() (*Compiler, error) {
	common, err := cel.NewEnv(append(functionOptions(),
		cel.CustomTypeProvider(newTypeProvider(nil)),
		cel.Variable(varPrincipal, cel.ObjectType(typePrincipal)),
		cel.Variable(varTool, cel.ObjectType(typeTool)),
		cel.Variable(varRequest, cel.ObjectType(typeRequest)),
		cel.Variable(varResult, cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxConditionBytes),
		cel.ParserRecursionLimit(maxConditionDepth),
		cel.ExpressionNodeLimit(maxConditionNodes),
		cel.ExpressionNestingDepthLimit(maxConditionDepth),
		cel.RegexProgramSizeLimit(maxRegexProgram),
	)...)
	if err != nil {
		return nil, err
	}
	untyped, err := common.Extend(cel.Variable(varArgs, cel.DynType))
	return &Compiler{common: common, untyped: untyped, seed: maphash.MakeSeed()}, err
}

// Variables of conditions.
const (
	varPrincipal = "principal"
	varTool      = "tool"
	varArgs      = "args"
	varResult    = "result"
	varRequest   = "request"
)

// Types of the variables, and of the arguments of a tool and the objects in them.
const (
	typePrincipal = "junctor.Principal"
	typeTool      = "junctor.Tool"
	typeRequest   = "junctor.Request"
	typeArguments = "junctor.Arguments"
)

// fixedTypes returns the members of the types that do not depend on a tool.
func fixedTypes() map[string]map[string]*types.Type {
	texts := types.NewListType(types.StringType)
	return map[string]map[string]*types.Type{
		typePrincipal: {
			"user": types.StringType, "agent": types.StringType, "role": types.StringType, "groups": texts,
			"tenant": types.StringType, "key": types.StringType, "client": types.StringType,
		},
		typeTool: {
			"server": types.StringType, "name": types.StringType, "tags": texts, "digest": types.StringType,
			"read_only": types.BoolType, "destructive": types.BoolType, "idempotent": types.BoolType, "open_world": types.BoolType,
		},
		typeRequest: {"entry_point": types.StringType, "address": types.StringType, "time": types.TimestampType},
	}
}
