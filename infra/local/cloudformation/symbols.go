package cloudformation

// Symbols is an environment of names for what a deploy creates: !Ref Table is "<Table>", !GetAtt Table.Arn "<Table.Arn>".
type Symbols struct{}

// Ref names a resource or a pseudo parameter.
func (Symbols) Ref(id string) (string, error) { return "<" + id + ">", nil }

// Attribute names an attribute.
func (Symbols) Attribute(id, name string) (string, error) { return "<" + id + "." + name + ">", nil }
