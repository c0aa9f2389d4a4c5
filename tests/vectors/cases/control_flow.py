"""IF and WHILE."""
import numpy as np

from builder import (Collection, DATA_TYPES, const, flag, i32, model, none, omitted, operand,
                     out, real, stored, subgraph, temp)

ZERO = {"U8": 128, "S8": 0}


def inner(type_, dims, params=None):
    """An input of a referenced model."""
    return operand(type_, "SUBGRAPH_INPUT", params, dims)


def branch(operation, type_, dims, constant=None, params=None):
    """A model of one operation on two inputs, or on one and a constant."""
    ins = [inner(type_, dims, params), inner(type_, dims, params)]
    other = ins[1] if constant is None else const(type_, np.full([1], constant), params)
    return subgraph([(operation, [ins[0], other, i32(0)], [out(type_, params, dims)])],
                    inputs=ins)


def condition(value, as_input=True):
    return stored("B8", [value], const=not as_input)


def if_():
    c = Collection("if")

    def inputs(type_, chosen, params=None, x=None):
        x = x if x is not None else np.array([[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]])
        return [chosen, model(0), model(1), real(type_, x, params),
                real(type_, np.full_like(x, 0.5 if type_ != "I32" else 2.0), params)]

    for type_ in DATA_TYPES + ("I32",):
        params = (0.125, ZERO[type_] - 10) if type_ in ZERO else None
        for name, chosen in (("then", condition(1)), ("else", condition(0)),
                             ("then_by_any_byte", condition(2)),
                             ("then_constant", condition(1, False)),
                             ("else_constant", condition(0, False))):
            branches = [branch("ADD", type_, [2, 3], params=params),
                        branch("SUB", type_, [2, 3], params=params)]
            c.graph(f"{type_.lower()}_{name}",
                    [("IF", inputs(type_, chosen, params), [out(type_, params)])], branches)
    pair = lambda: [branch("ADD", "F32", [2, 3]), branch("MUL", "F32", [2, 3])]  # noqa: E731
    several_branches(c, inputs)
    data_dependent(c, pair)
    one_model_for_both(c, inputs)
    if_failures(c, inputs, pair)
    return c


def several_branches(c, inputs):
    """Branches of several operations and results; an IF inside an IF; order of operations."""
    def two_results(first, second):
        a, b = inner("F32", [2, 3]), inner("F32", [2, 3])
        middle = temp("F32", dims=[2, 3])
        return subgraph([(first, [a, b, i32(0)], [middle]),
                         (second, [middle, a, i32(1)], [out("F32", dims=[2, 3])]),
                         ("FLOOR", [middle], [out("F32", dims=[2, 3])])], inputs=[a, b])

    for value in (0, 1):
        c.graph(f"two_results_{value}",
                [("IF", inputs("F32", condition(value)), [out("F32"), out("F32")])],
                [two_results("ADD", "MUL"), two_results("MUL", "SUB")])
    for outer, within in ((0, 0), (0, 1), (1, 0), (1, 1)):
        chosen = inner("B8", [1])
        a, b = inner("F32", [2, 3]), inner("F32", [2, 3])
        nested = subgraph([("IF", [chosen, model(2), model(3), a, b], [out("F32", dims=[2, 3])])],
                          inputs=[chosen, a, b])
        plain_chosen, x, y = inner("B8", [1]), inner("F32", [2, 3]), inner("F32", [2, 3])
        plain = subgraph([("SUB", [x, y, i32(0)], [out("F32", dims=[2, 3])])],
                         inputs=[plain_chosen, x, y])
        first = inputs("F32", condition(outer))
        c.graph(f"nested_{outer}{within}",
                [("IF", [*first[:3], condition(within), *first[3:]], [out("F32")])],
                [nested, plain, branch("ADD", "F32", [2, 3]), branch("MUL", "F32", [2, 3])])


def data_dependent(c, pair):
    """The condition is computed, and the result is used further."""
    for name, values in (("less", [1.0]), ("not_less", [9.0])):
        chosen, result = temp("B8"), temp("F32")
        x = real("F32", np.arange(6.0).reshape(2, 3))
        c.graph(f"computed_condition_{name}",
                [("LESS", [real("F32", values), const("F32", [5.0])], [chosen]),
                 ("IF", [chosen, model(0), model(1), x, x], [result]),
                 ("NEG", [result], [out("F32")])], pair())


def one_model_for_both(c, inputs):
    for value in (0, 1):
        ins = inputs("F32", condition(value))
        c.graph(f"one_model_for_both_{value}",
                [("IF", [ins[0], model(0), model(0), *ins[3:]], [out("F32")])],
                [branch("ADD", "F32", [2, 3])])
        # Only one of the inputs is used, and a result is an input of the branch as it came.
        c.graph(f"constant_in_branch_{value}", [("IF", inputs("F32", condition(value)),
                                                 [out("F32")])],
                [branch("ADD", "F32", [2, 3], 4.0), branch("SUB", "F32", [2, 3], 1.0)])


def if_failures(c, inputs, pair):
    def fails(name, ins, branches=None, dims=(2, 3), type_="F32"):
        c.graph(name, [("IF", ins, [out(type_, dims=dims)])], branches or pair(), fails=True)

    fails("no_condition", inputs("F32", none("B8", dims=(1,))))
    fails("condition_left_out_at_execution", inputs("F32", omitted("B8", dims=(1,))))
    fails("condition_of_two", inputs("F32", stored("B8", [1, 0])))
    fails("condition_type", inputs("F32", stored("I32", [1])))
    fails("condition_scalar", inputs("F32", flag(1)))
    good = inputs("F32", condition(1))
    fails("input_missing", good[:-1])
    fails("input_too_many", [*good, good[3]])
    fails("input_type", inputs("F16", condition(1)))
    fails("input_shape", inputs("F32", condition(1), x=np.ones([3, 3])))
    fails("output_shape", good, dims=(3, 2))
    fails("output_type", good, type_="F16")
    fails("branches_differ_in_shape", good, [branch("ADD", "F32", [2, 3]),
                                             branch("ADD", "F32", [3, 2])])
    fails("branches_differ_in_type", good, [branch("ADD", "F32", [2, 3]),
                                            branch("ADD", "F16", [2, 3])])
    fails("branch_not_a_model", [good[0], i32(0), model(1), *good[3:]])
    quantised = inputs("U8", condition(1), (0.5, 3))
    c.graph("scales_differ", [("IF", quantised, [out("U8", (0.5, 3), [2, 3])])],
            [branch("ADD", "U8", [2, 3], params=(0.5, 3)),
             branch("ADD", "U8", [2, 3], params=(0.25, 3))], fails=True)


def counter_condition(extra, type_="I32", limit=None):
    """counter < limit; the limit is the last input unless it is given. `extra`: other inputs,
    between the two."""
    counter = inner(type_, [1])
    ends = inner("I32", [1]) if limit is None else const("I32", [limit])
    inputs = [counter, *extra] + ([ends] if limit is None else [])
    return subgraph([("LESS", [counter, ends], [out("B8", dims=[1])])], inputs=inputs)


def while_():
    c = Collection("while")
    sums(c)
    state_only(c)
    grows(c)
    nested(c)
    if_in_while(c)
    computed_around(c)
    endless(c)
    while_failures(c)
    return c


def sum_models(type_, dims, params=None):
    """counter += 1, value += addend, while counter < limit; the addend and limit stay."""
    holds = counter_condition([inner(type_, dims, params), inner(type_, dims, params)])
    counter, value, addend, limit = (inner("I32", [1]), inner(type_, dims, params),
                                     inner(type_, dims, params), inner("I32", [1]))
    results = [out("I32", dims=[1]), out(type_, params, dims)]
    body = subgraph([("ADD", [counter, const("I32", [1]), i32(0)], [results[0]]),
                     ("ADD", [value, addend, i32(0)], [results[1]])],
                    inputs=[counter, value, addend, limit], outputs=results)
    return [holds, body]


def sum_inputs(type_, limit, params=None, start=0):
    value = np.array([[1.0, 2.0], [3.0, -4.0]])
    return [model(0), model(1), stored("I32", [start], const=True), real(type_, value, params),
            const(type_, np.full([2, 2], 1.0 if type_ == "I32" else 0.5), params),
            stored("I32", [limit])]


def sums(c):
    for type_ in DATA_TYPES + ("I32",):
        params = (0.25, ZERO[type_] + 9) if type_ in ZERO else None
        for limit in (0, 1, 5):
            c.graph(f"{type_.lower()}_{limit}_iterations",
                    [("WHILE", sum_inputs(type_, limit, params), [out("I32"), out(type_, params)])],
                    sum_models(type_, [2, 2], params))
    c.graph("saturates", [("WHILE", sum_inputs("U8", 300, (0.25, 100)),
                           [out("I32"), out("U8", (0.25, 100))])],
            sum_models("U8", [2, 2], (0.25, 100)))
    c.graph("many_iterations", [("WHILE", sum_inputs("I32", 1000), [out("I32"), out("I32")])],
            sum_models("I32", [2, 2]))
    c.graph("relaxed", [("WHILE", sum_inputs("F32", 3), [out("I32"), out("F32")])],
            sum_models("F32", [2, 2]), relaxed=True)


def state_only(c):
    """Fibonacci: the value is a result, its predecessor and the counter are state only."""
    for limit in (0, 1, 2, 7):
        value, before, counter, ends = (inner("F32", [1]), inner("F32", [1]), inner("I32", [1]),
                                        inner("I32", [1]))
        holds = subgraph([("LESS", [counter, ends], [out("B8", dims=[1])])],
                         inputs=[value, before, counter, ends])
        v, b, n, e = (inner("F32", [1]), inner("F32", [1]), inner("I32", [1]), inner("I32", [1]))
        results = [out("F32", dims=[1]), out("F32", dims=[1]), out("I32", dims=[1])]
        body = subgraph([("ADD", [v, b, i32(0)], [results[0]]),
                         ("ADD", [v, const("F32", [0.0]), i32(0)], [results[1]]),
                         ("ADD", [n, const("I32", [1]), i32(0)], [results[2]])],
                        inputs=[v, b, n, e], outputs=results)
        c.graph(f"state_only_{limit}",
                [("WHILE", [model(0), model(1), real("F32", [1.0]), const("F32", [0.0]),
                            const("I32", [0]), stored("I32", [limit])], [out("F32")])],
                [holds, body])


def grows(c):
    """A row more in each iteration: the shapes inside are open."""
    for type_ in DATA_TYPES:
        for limit in (0, 1, 4):
            counter, rows = inner("I32", [1]), inner(type_, [0, 2])
            ends = inner("I32", [1])
            holds = subgraph([("LESS", [counter, ends], [out("B8", dims=[1])])],
                             inputs=[counter, rows, ends])
            counter, rows, ends = inner("I32", [1]), inner(type_, [0, 2]), inner("I32", [1])
            results = [out("I32", dims=[1]), out(type_, dims=[0, 2])]
            body = subgraph([("ADD", [counter, const("I32", [1]), i32(0)], [results[0]]),
                             ("CONCATENATION", [rows, const(type_, [[1.0, -1.0]]), i32(0)],
                              [results[1]])], inputs=[counter, rows, ends], outputs=results)
            c.graph(f"{type_.lower()}_grows_{limit}",
                    [("WHILE", [model(0), model(1), const("I32", [0]), real(type_, [[0.5, 2.0]]),
                                stored("I32", [limit])], [out("I32"), out(type_)])],
                    [holds, body], stated=False)


def nested(c):
    """Powers: an outer loop that multiplies by adding in an inner loop."""
    for outer, within in ((0, 3), (1, 0), (2, 3), (4, 2)):
        # Models 2 and 3: the inner loop over (counter, value, addend, limit).
        counter, value, times, limit = (inner("I32", [1]), inner("F32", [2]), inner("I32", [1]),
                                        inner("I32", [1]))
        results = [out("I32", dims=[1]), out("F32", dims=[2])]
        unused = temp("I32", dims=[1])
        body = subgraph(
            [("ADD", [counter, const("I32", [1]), i32(0)], [results[0]]),
             ("WHILE", [model(2), model(3), const("I32", [0]), const("F32", [0.0, 0.0]), value,
                        times], [unused, results[1]])],
            inputs=[counter, value, times, limit], outputs=results)
        holds = counter_condition([inner("F32", [2]), inner("I32", [1])])
        c.graph(f"nested_{outer}_{within}",
                [("WHILE", [model(0), model(1), const("I32", [0]), real("F32", [1.0, -0.5]),
                            stored("I32", [within]), stored("I32", [outer])],
                  [out("I32"), out("F32")])],
                [holds, body, *sum_models("F32", [2])])


def if_in_while(c):
    """Adds while the value is small, then subtracts."""
    for limit in (0, 3, 6):
        value, addend = inner("F32", [1]), inner("F32", [1])
        then = subgraph([("ADD", [value, addend, i32(0)], [out("F32", dims=[1])])],
                        inputs=[value, addend])
        value, addend = inner("F32", [1]), inner("F32", [1])
        otherwise = subgraph([("SUB", [value, addend, i32(0)], [out("F32", dims=[1])])],
                             inputs=[value, addend])
        counter, value, addend, ends = (inner("I32", [1]), inner("F32", [1]), inner("F32", [1]),
                                        inner("I32", [1]))
        small = temp("B8", dims=[1])
        results = [out("I32", dims=[1]), out("F32", dims=[1])]
        body = subgraph([("LESS", [value, const("F32", [3.0])], [small]),
                         ("IF", [small, model(2), model(3), value, addend], [results[1]]),
                         ("ADD", [counter, const("I32", [1]), i32(0)], [results[0]])],
                        inputs=[counter, value, addend, ends], outputs=results)
        c.graph(f"if_inside_{limit}",
                [("WHILE", [model(0), model(1), const("I32", [0]), real("F32", [0.5]),
                            const("F32", [1.25]), stored("I32", [limit])],
                  [out("I32"), out("F32")])],
                [counter_condition([inner("F32", [1]), inner("F32", [1])]), body, then, otherwise])


def computed_around(c):
    """The loop's inputs are computed, and its results are used further. Also two loops in a row."""
    start, first, second = temp("F32"), temp("F32"), temp("F32")
    counters = temp("I32"), temp("I32")
    x = real("F32", [[1.0, 2.0], [3.0, -4.0]])
    addend, limit = const("F32", np.full([2, 2], 0.25)), stored("I32", [3])
    c.graph("two_loops_in_a_row",
            [("ABS", [x], [start]),
             ("WHILE", [model(0), model(1), const("I32", [0]), start, addend, limit],
              [counters[0], first]),
             ("WHILE", [model(0), model(1), const("I32", [1]), first, addend, limit],
              [counters[1], second]),
             ("NEG", [second], [out("F32")])], sum_models("F32", [2, 2]))


def endless(c):
    counter, value = inner("I32", [1]), inner("F32", [1])
    holds = subgraph([("EQUAL", [counter, counter], [out("B8", dims=[1])])],
                     inputs=[counter, value])
    counter, value = inner("I32", [1]), inner("F32", [1])
    results = [out("I32", dims=[1]), out("F32", dims=[1])]
    body = subgraph([("ADD", [counter, const("I32", [0]), i32(0)], [results[0]]),
                     ("MUL", [value, const("F32", [1.0]), i32(0)], [results[1]])],
                    inputs=[counter, value], outputs=results)
    c.graph("endless", [("WHILE", [model(0), model(1), const("I32", [0]), real("F32", [1.0])],
                         [out("I32", dims=[1]), out("F32", dims=[1])])], [holds, body], fails=True)


def while_failures(c):
    good = lambda: sum_inputs("F32", 2)  # noqa: E731
    models = lambda: sum_models("F32", [2, 2])  # noqa: E731

    def fails(name, ins, referenced=None, value=("F32", (2, 2)), count=2):
        outs = [out("I32", dims=[1]), out(value[0], dims=value[1]), out("F32", dims=[1])]
        c.graph(name, [("WHILE", ins, outs[:count])], referenced or models(), fails=True)

    ins = good()
    fails("input_missing", ins[:-1])
    fails("input_too_many", [*ins, ins[-1]])
    fails("output_too_many", ins, count=3)
    fails("output_type", ins, value=("F16", (2, 2)))
    fails("output_shape", ins, value=("F32", (3, 2)))
    fails("initial_value_type", [*ins[:3], real("F16", np.ones([2, 2])), *ins[4:]])
    fails("initial_value_shape", [*ins[:3], real("F32", np.ones([2, 3])), *ins[4:]])
    fails("condition_without_value", [*ins[:2], omitted("I32", dims=(1,)), *ins[3:]])
    counter, value, addend, limit = (inner("I32", [1]), inner("F32", [2, 2]), inner("F32", [2, 2]),
                                     inner("I32", [1]))
    wide = subgraph([("LESS", [value, addend], [out("B8", dims=[2, 2])])],
                    inputs=[counter, value, addend, limit])
    fails("condition_of_four", ins, [wide, models()[1]])
    counter, value, addend, limit = (inner("I32", [1]), inner("F32", [2, 2]), inner("F32", [2, 2]),
                                     inner("I32", [1]))
    number = subgraph([("ADD", [counter, limit, i32(0)], [out("I32", dims=[1])])],
                      inputs=[counter, value, addend, limit])
    fails("condition_not_boolean", ins, [number, models()[1]])
    fails("body_not_a_model", [ins[0], i32(1), *ins[2:]])
    fails("body_is_the_condition", [ins[0], model(0), *ins[2:]])
    narrow = sum_models("F32", [2, 3])
    fails("models_differ", ins, [models()[0], narrow[1]])


def collections():
    return [if_(), while_()]
