package configfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"engang/shared/config"
)

// The limits of a file.
const (
	maxBytes = 1 << 20
	maxDepth = 64
	maxNodes = 100_000 // anchors written out
)

var (
	jsonNumber  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	likeNumber  = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?$`)
	likeBoolean = []string{"yes", "no", "on", "off"}
)

// A reader makes nodes of one file.
type reader struct {
	file    string
	faults  *Faults
	anchors map[string]*node // of this document
}

// readYAML reads the documents of a file. What cannot be read is left out and reported.
func readYAML(s Source, faults *Faults) []*node {
	r := &reader{file: s.Name, faults: faults}
	text, ok := r.bytes(s.Text)
	if !ok {
		return nil
	}
	file := r.parse(text)
	if file == nil {
		return nil
	}
	var roots []*node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		r.anchors = map[string]*node{}
		if _, ok := doc.Body.(*ast.DirectiveNode); ok {
			r.fault(lineOf(doc.Body), "a YAML directive", "leave it out: files are YAML 1.2")
			continue
		}
		root := r.node(doc.Body, lineOf(doc.Body))
		if root.kind != mapping {
			r.fault(root.line, "the document is no mapping", "begin with version, tenant and environment")
			continue
		}
		roots = append(roots, root)
	}
	return roots
}

func (r *reader) fault(line int, reason, remedy string) {
	*r.faults = append(*r.faults, Fault{File: r.file, Line: line, Reason: reason, Remedy: remedy})
}

// bytes refuses what no line of a configuration file holds, before it is parsed.
func (r *reader) bytes(raw []byte) (string, bool) {
	switch {
	case len(raw) > maxBytes:
		r.fault(0, "the file is larger than 1 MiB", "split it into files of one folder")
		return "", false
	case !utf8.Valid(raw):
		r.fault(0, "the file is not UTF-8", "save it as UTF-8")
		return "", false
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(raw), "\ufeff"), "\r\n", "\n")
	ok := true
	for i, line := range strings.Split(text, "\n") {
		at := strings.IndexFunc(line, func(c rune) bool {
			return c < ' ' || c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff
		})
		switch {
		case at < 0:
		case line[at] == '\t':
			ok = false
			r.fault(i+1, "a tab", `use spaces; within a text write \t in double quotes`)
		default:
			ok = false
			r.fault(i+1, "a control character", "remove it")
		}
	}
	return text, ok
}

// parse runs the library. Its own texts may quote the file, so only those parts that do not are kept.
func (r *reader) parse(text string) (file *ast.File) {
	defer func() {
		if recover() != nil { // a bug of the library on broken input; its text may quote the file
			r.fault(0, "the file cannot be read as YAML", "check indentation and quotes")
			file = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	if line, deep := tooDeep(tokens); deep {
		r.fault(line, fmt.Sprintf("nested deeper than %d levels", maxDepth), "flatten it")
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // doubled keys are found here, all of them
	if err == nil {
		return file
	}
	type located interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	line, message := 0, "no YAML"
	if at, ok := errors.AsType[located](err); ok {
		message, _, _ = strings.Cut(at.GetMessage(), `"`)
		if t := at.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
	}
	r.fault(line, "the file cannot be read as YAML: "+strings.Trim(message, " :"), "check indentation and quotes here and in the line before")
	return nil
}

// tooDeep looks at the tokens, since the parser calls itself for each level.
func tooDeep(tokens token.Tokens) (int, bool) {
	flow, line, inLine := 0, 0, 0
	for _, t := range tokens {
		if t.Position != nil && t.Position.Line != line {
			line, inLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			inLine++
		}
		if flow > maxDepth || inLine > maxDepth && flow == 0 {
			return line, true
		}
	}
	return 0, false
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// node converts a value of the library. The line is that of its key, where it has one.
func (r *reader) node(v ast.Node, line int) *node {
	n := &node{file: r.file, line: line, size: 1}
	switch v := v.(type) {
	case *ast.MappingNode:
		r.mapping(n, v.Values)
	case *ast.MappingValueNode:
		r.mapping(n, []*ast.MappingValueNode{v})
	case *ast.SequenceNode:
		n.kind = sequence
		for _, item := range v.Values {
			if child := r.node(item, lineOf(item)); r.grow(n, child) {
				n.list = append(n.list, child)
			}
		}
	case *ast.AnchorNode:
		n = r.node(v.Value, line)
		r.anchors[v.Name.GetToken().Value] = n
	case *ast.AliasNode:
		return r.alias(n, v)
	case *ast.TagNode:
		r.fault(lineOf(v), "a YAML tag", "leave it out; quote what is text")
	default:
		n.value = r.scalar(v, line)
	}
	return n
}

// grow counts a child, and tells whether it may be kept: anchors can write out to more than memory
// holds.
func (r *reader) grow(n, child *node) bool {
	before := *n
	n.size += child.size
	n.depth = max(n.depth, child.depth+1)
	if before.size <= maxNodes && n.size > maxNodes {
		r.fault(n.line, fmt.Sprintf("more than %d values, anchors written out", maxNodes), "use fewer anchors")
	}
	if before.depth <= maxDepth && n.depth > maxDepth {
		r.fault(n.line, fmt.Sprintf("nested deeper than %d levels", maxDepth), "flatten it")
	}
	return n.size <= maxNodes && n.depth <= maxDepth
}

func (r *reader) mapping(n *node, values []*ast.MappingValueNode) {
	n.kind = mapping
	for _, v := range values {
		line := lineOf(v.Key)
		key, ok := v.Key.(*ast.StringNode)
		if !ok {
			r.badKey(v.Key, line)
			continue
		}
		if key.Token.Type == token.StringType {
			r.plainText(key.Value, line)
		}
		child := r.node(v.Value, line)
		if slices.ContainsFunc(n.keys, func(e *entry) bool { return e.name == key.Value }) {
			r.fault(line, "the key stands here for the second time in one mapping", "keep one of them")
			continue
		}
		if r.grow(n, child) {
			n.keys = append(n.keys, &entry{name: key.Value, line: line, value: child})
		}
	}
}

func (r *reader) badKey(key ast.MapKeyNode, line int) {
	switch key.(type) {
	case *ast.MergeKeyNode:
		r.fault(line, "a merge key (<<)", "write the keys out")
	case *ast.TagNode:
		r.fault(line, "a YAML tag", "leave it out; quote what is text")
	case *ast.MappingKeyNode:
		r.fault(line, "a key with a question mark", "write it as key: value")
	default:
		r.fault(line, "a key that is no text", "quote it")
	}
}

func (r *reader) alias(n *node, v *ast.AliasNode) *node {
	anchored, ok := r.anchors[v.Value.GetToken().Value]
	if !ok {
		r.fault(lineOf(v), "the alias has no anchor before it in this document", "write the value out; anchors do not reach across documents")
		return n
	}
	return anchored
}

// scalar reads text, numbers, booleans and null, and refuses what readers of YAML disagree about.
func (r *reader) scalar(v ast.Node, line int) any {
	switch v := v.(type) {
	case *ast.StringNode:
		if v.Token.Type == token.StringType {
			r.plainText(v.Value, line)
		}
		return r.text(v.Value, line)
	case *ast.LiteralNode:
		return r.text(v.Value.Value, line)
	case *ast.IntegerNode, *ast.FloatNode:
		if text := v.GetToken().Value; jsonNumber.MatchString(text) {
			return json.Number(text)
		}
		r.fault(line, "a number that is not plainly decimal", "write it as 1200 or 0.40; quote it if it is text")
	case *ast.BoolNode:
		return strings.EqualFold(v.GetToken().Value, "true")
	case *ast.NullNode:
	default:
		r.fault(line, "a value that is neither text, number, boolean nor null", "write one of these")
	}
	return nil
}

func (r *reader) plainText(text string, line int) {
	switch {
	case slices.ContainsFunc(likeBoolean, func(word string) bool { return strings.EqualFold(word, text) }):
		r.fault(line, "unquoted yes, no, on or off: text for some readers, a boolean for others", `quote it if it is text ("no"); write true or false if it is not`)
	case likeNumber.MatchString(text):
		r.fault(line, "a number that is not plainly decimal", "write it as 1200 or 0.40; quote it if it is text")
	}
}

func (r *reader) text(text string, line int) string {
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }) {
		r.fault(line, "a control character, written as an escape", "remove it")
	}
	if config.IsSecret(text) {
		r.fault(line, "a secret as a value", "put it into the parameter store and write its reference: ssm:hooks/NAME/1 or ssm:models/NAME")
	}
	return text
}
