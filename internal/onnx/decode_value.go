package onnx

func (v *Value) decode(msg []byte, depth int) error {
	err := eachField(msg, &v.Extra, func(f field) error {
		switch f.num {
		case valueName:
			return f.string(&v.Name)
		case valueType:
			return f.message(func(msg []byte) error { return v.Type.decode(msg, depth) })
		case valueDocString:
			return f.string(&v.Doc)
		case valueMetadataProps:
			return decodeElement(f, &v.Metadata, (*Property).decode)
		}
		return errUnknownField
	})
	return in("value", v.Name, err)
}

func (t *Type) decode(msg []byte, _ int) error {
	return eachField(msg, &t.Extra, func(f field) error {
		switch f.num {
		case typeTensorType:
			return f.message(t.decodeTensor)
		case typeDenotation:
			return f.string(&t.Denotation)
		}
		return errUnknownField
	})
}

func (t *Type) decodeTensor(msg []byte) error {
	return eachField(msg, &t.TensorExtra, func(f field) error {
		switch f.num {
		case tensorTypeElemType:
			return f.elemType(&t.Elem)
		case tensorTypeShape:
			return f.message(t.decodeShape)
		}
		return errUnknownField
	})
}

func (t *Type) decodeShape(msg []byte) error {
	if t.Shape == nil {
		t.Shape = Shape{}
	}
	return eachField(msg, &t.ShapeExtra, func(f field) error {
		if f.num != shapeDim {
			return errUnknownField
		}
		return decodeElement(f, (*[]Dim)(&t.Shape), (*Dim).decode)
	})
}

func (d *Dim) decode(msg []byte) error {
	d.Size = -1
	return eachField(msg, &d.Extra, func(f field) error {
		switch f.num {
		case dimValue:
			d.Param = ""
			return f.int(&d.Size)
		case dimParam:
			d.Size = -1
			return f.string(&d.Param)
		case dimDenotation:
			return f.string(&d.Denotation)
		}
		return errUnknownField
	})
}
