package synth

import (
	"encoding/binary"
	"math"
)

// A pandasTable is a table whose columns have texts, or lists of tokens, as the references publish prompts.
type pandasTable struct {
	names   []string
	columns [][]any // by name: a string or []int32 for each row
}

// The operations of Python's pickles, of protocol 4 (Lib/pickle.py).
const (
	opProtocol   = '\x80'
	opMark       = '('
	opStop       = '.'
	opNone       = 'N'
	opTrue       = '\x88'
	opFalse      = '\x89'
	opInt4       = 'J'
	opShortText  = '\x8c' // of up to 255 bytes
	opText       = 'X'
	opShortBytes = 'C'
	opList       = ']'
	opAppends    = 'e'
	opDict       = '}'
	opSetItems   = 'u'
	opEmptyTuple = ')'
	opTuple      = 't' // of what is behind the mark
	opTuple2     = '\x86'
	opTuple3     = '\x87'
	opGlobal     = '\x93'
	opReduce     = 'R'
	opNew        = '\x81'
	opBuild      = 'b'
)

// A pickler writes a pickle, operation by operation.
type pickler []byte

func (p *pickler) op(ops ...byte) { *p = append(*p, ops...) }

func (p *pickler) number(n int) {
	p.op(opInt4)
	*p = binary.LittleEndian.AppendUint32(*p, uint32(int32(n)))
}

func (p *pickler) text(s string) {
	if len(s) <= math.MaxUint8 {
		p.op(opShortText, byte(len(s)))
	} else {
		p.op(opText)
		*p = binary.LittleEndian.AppendUint32(*p, uint32(len(s)))
	}
	*p = append(*p, s...)
}

func (p *pickler) global(module, name string) {
	p.text(module)
	p.text(name)
	p.op(opGlobal)
}

// objects writes an array of objects.
func (p *pickler) objects(shape []int, each func()) {
	p.global("numpy.core.multiarray", "_reconstruct")
	p.global("numpy", "ndarray")
	p.op(opMark)
	p.number(0)
	p.op(opTuple, opShortBytes, 1, 'b', opTuple3, opReduce, opMark)
	p.number(1) // version
	p.op(opMark)
	for _, n := range shape {
		p.number(n)
	}
	p.op(opTuple)
	p.objectType()
	p.op(opFalse, opList, opMark) // rows lie behind each other
	each()
	p.op(opAppends, opTuple, opBuild)
}

// objectType writes NumPy's type of objects.
func (p *pickler) objectType() {
	const version, unknown, holdsReferences = 3, -1, 63
	p.global("numpy", "dtype")
	p.text("O8")
	p.op(opFalse, opTrue, opTuple3, opReduce, opMark)
	p.number(version)
	p.text("|")
	p.op(opNone, opNone, opNone)
	p.number(unknown)
	p.number(unknown)
	p.number(holdsReferences)
	p.op(opTuple, opBuild)
}

// value writes a text or a list of tokens.
func (p *pickler) value(v any) {
	tokens, ok := v.([]int32)
	if !ok {
		p.text(v.(string))
		return
	}
	p.op(opList, opMark)
	for _, t := range tokens {
		p.number(int(t))
	}
	p.op(opAppends)
}

// pickle is the table as pandas writes it (DataFrame.to_pickle).
func (t pandasTable) pickle() []byte {
	p := &pickler{opProtocol, 4}
	p.global("pandas.core.frame", "DataFrame")
	p.op(opEmptyTuple, opNew, opDict, opMark)
	p.text("_mgr")
	p.global("pandas.core.internals.managers", "BlockManager")
	p.op(opMark)
	t.block(p)
	p.op(opTuple, opList, opMark)
	t.indices(p)
	p.op(opAppends, opTuple2, opReduce)
	p.text("_typ")
	p.text("dataframe")
	p.text("_metadata")
	p.op(opList)
	p.text("attrs")
	p.op(opDict)
	p.text("_flags")
	p.op(opDict, opMark)
	p.text("allows_duplicate_labels")
	p.op(opTrue, opSetItems, opSetItems, opBuild, opStop)
	return *p
}

func (t pandasTable) rows() int { return len(t.columns[0]) }

// block writes all columns as one block.
func (t pandasTable) block(p *pickler) {
	const axes = 2
	p.global("pandas._libs.internals", "_unpickle_block")
	p.objects([]int{len(t.names), t.rows()}, func() {
		for _, column := range t.columns {
			for _, v := range column {
				p.value(v)
			}
		}
	})
	p.global("builtins", "slice")
	p.number(0)
	p.number(len(t.names))
	p.number(1)
	p.op(opTuple3, opReduce)
	p.number(axes)
	p.op(opTuple3, opReduce)
}

// indices writes the names of columns and the numbers of rows.
func (t pandasTable) indices(p *pickler) {
	const indexes = "pandas.core.indexes.base"
	p.global(indexes, "_new_Index")
	p.global(indexes, "Index")
	p.op(opDict, opMark)
	p.text("data")
	p.objects([]int{len(t.names)}, func() {
		for _, name := range t.names {
			p.text(name)
		}
	})
	p.text("name")
	p.op(opNone, opSetItems, opTuple2, opReduce)
	p.global(indexes, "_new_Index")
	p.global("pandas.core.indexes.range", "RangeIndex")
	p.op(opDict, opMark)
	p.text("name")
	p.op(opNone)
	for i, key := range []string{"start", "stop", "step"} {
		p.text(key)
		p.number([]int{0, t.rows(), 1}[i])
	}
	p.op(opSetItems, opTuple2, opReduce)
}
