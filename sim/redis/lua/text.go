package lua

import (
	"reflect"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// textOfOperand is the name of the global function that converts the operands of the operator .. to text. Scripts
// cannot name it, because it is not an identifier.
const textOfOperand = "\x00text"

// textOf returns a number in the text form that Lua uses, and any other value unchanged. gopher-lua's own conversion
// differs: it writes 1e15 as 1000000000000000 and gives fractions more digits.
func textOf(v lua.LValue) lua.LValue {
	if f, ok := v.(lua.LNumber); ok {
		return lua.LString(FormatNumber(float64(f), 14))
	}
	return v
}

// convertOperand is the function textOfOperand.
func convertOperand(L *lua.LState) int {
	L.Push(textOf(L.Get(1)))
	return 1
}

// takesTexts makes a library function convert number arguments to text by Lua's rules. count is the number of arguments
// to convert.
func (e *Engine) takesTexts(library *lua.LTable, name string, count int) {
	inner := library.RawGetString(name).(*lua.LFunction).GFunction
	library.RawSetString(name, e.state.NewFunction(func(L *lua.LState) int {
		for i := 1; i <= min(count, L.GetTop()); i++ {
			if f, ok := L.Get(i).(lua.LNumber); ok {
				L.Replace(i, textOf(f))
			}
		}
		return inner(L)
	}))
}

// convertOperands makes a syntax tree convert the operands of each operator .. with the function [textOfOperand].
func convertOperands(tree []ast.Stmt) { convertIn(reflect.ValueOf(tree)) }

// convertIn does the work of convertOperands for a node, or for a list of nodes.
func convertIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		convertIn(v.Elem())
		if operator, ok := v.Interface().(*ast.StringConcatOpExpr); ok && v.Kind() == reflect.Pointer {
			operator.Lhs, operator.Rhs = converted(operator.Lhs), converted(operator.Rhs)
		}
	case reflect.Slice:
		for i := range v.Len() {
			convertIn(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				convertIn(v.Field(i))
			}
		}
	}
}

// converted returns an expression that converts an operand, or the operand itself if it cannot be a number.
func converted(operand ast.Expr) ast.Expr {
	switch operand.(type) {
	case *ast.StringExpr, *ast.StringConcatOpExpr:
		return operand
	}
	function := &ast.IdentExpr{Value: textOfOperand}
	call := &ast.FuncCallExpr{Func: function, Args: []ast.Expr{operand}}
	for _, node := range []ast.PositionHolder{function, call} {
		node.SetLine(operand.Line())
		node.SetLastLine(operand.LastLine())
	}
	return call
}

// concat implements table.concat.
func concat(L *lua.LState) int {
	t, separator := L.CheckTable(1), L.OptString(2, "")
	first, last := L.OptInt(3, 1), L.OptInt(4, t.Len())
	var b strings.Builder
	for i := first; i <= last; i++ {
		v := t.RawGetInt(i)
		if !lua.LVCanConvToString(v) {
			L.RaiseError("invalid value (%s) at index %d in table for 'concat'", v.Type(), i)
		}
		b.WriteString(string(textOf(v).(lua.LString)))
		if i < last {
			b.WriteString(separator)
		}
	}
	L.Push(lua.LString(b.String()))
	return 1
}
