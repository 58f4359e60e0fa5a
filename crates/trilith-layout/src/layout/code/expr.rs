//! Integers that a generated program computes: lengths, sizes and addresses.

/// A number of 64 bits; sums and products do not pass the largest one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Expr {
    Const(i64),
    /// A variable of [`CodePlan::vars`](super::CodePlan).
    Var(usize),
    /// The first address: it depends on whether a file has the signature.
    Start,
    /// The length of a dimension with suffixes: 0 and -1 ignore them (section 5.1).
    Length(Box<Expr>, i8),
    /// Number of elements along a dimension: 1 if it is removed.
    Factor(Box<Expr>),
    Add(Box<Expr>, Box<Expr>),
    Mul(Box<Expr>, Box<Expr>),
    Max(Box<Expr>, Box<Expr>),
    /// The next multiple of a power of two.
    AlignUp(Box<Expr>, i64),
    /// The second if the first is above 0, else the third.
    IfPositive(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Expr {
    pub(super) const ZERO: Expr = Expr::Const(0);
    pub(super) const ONE: Expr = Expr::Const(1);

    pub(super) fn with_suffix(self, suffix: i8) -> Expr {
        match self {
            Expr::Const(value) => Expr::Const(crate::layout::sizes::apply_suffix(value, suffix)),
            other if suffix == 0 => other,
            other => Expr::Length(Box::new(other), suffix),
        }
    }

    pub(super) fn into_factor(self) -> Expr {
        match self {
            Expr::Const(value) => Expr::Const(if value < 0 { 1 } else { value }),
            other => Expr::Factor(Box::new(other)),
        }
    }

    pub(super) fn plus(self, other: Expr) -> Expr {
        match (self, other) {
            (Expr::Const(a), Expr::Const(b)) => Expr::Const(a.saturating_add(b)),
            (a, Expr::Const(0)) | (Expr::Const(0), a) => a,
            (a, b) => Expr::Add(Box::new(a), Box::new(b)),
        }
    }

    pub(super) fn times(self, other: Expr) -> Expr {
        match (self, other) {
            (Expr::Const(a), Expr::Const(b)) => Expr::Const(a.saturating_mul(b)),
            (Expr::Const(0), _) | (_, Expr::Const(0)) => Expr::ZERO,
            (a, Expr::Const(1)) | (Expr::Const(1), a) => a,
            (a, b) => Expr::Mul(Box::new(a), Box::new(b)),
        }
    }

    pub(super) fn max(self, other: Expr) -> Expr {
        match (self, other) {
            (Expr::Const(a), Expr::Const(b)) => Expr::Const(a.max(b)),
            (a, b) if a == b => a,
            (a, b) => Expr::Max(Box::new(a), Box::new(b)),
        }
    }

    pub(super) fn align_up(self, align: u64) -> Expr {
        let align = i64::try_from(align).unwrap_or(i64::MAX);
        match self {
            other if align <= 1 => other,
            Expr::Const(at) => Expr::Const(at.saturating_add(align - 1) & !(align - 1)),
            other => Expr::AlignUp(Box::new(other), align),
        }
    }

    pub(super) fn if_positive(self, then: Expr, otherwise: Expr) -> Expr {
        match self {
            Expr::Const(value) if value > 0 => then,
            Expr::Const(_) => otherwise,
            _ if then == otherwise => then,
            other => Expr::IfPositive(Box::new(other), Box::new(then), Box::new(otherwise)),
        }
    }

    /// Calls a function for each variable in it.
    pub(super) fn each_var(&self, each: &mut dyn FnMut(usize)) {
        match self {
            Expr::Const(_) | Expr::Start => {}
            Expr::Var(var) => each(*var),
            Expr::Length(a, _) | Expr::Factor(a) | Expr::AlignUp(a, _) => a.each_var(each),
            Expr::Add(a, b) | Expr::Mul(a, b) | Expr::Max(a, b) => {
                a.each_var(each);
                b.each_var(each);
            }
            Expr::IfPositive(a, b, c) => {
                a.each_var(each);
                b.each_var(each);
                c.each_var(each);
            }
        }
    }
}

/// The spelling of numbers in one language.
pub(super) struct ExprSyntax {
    /// Suffix of a constant, such as `_int64`.
    pub suffix: &'static str,
    pub start: &'static str,
    /// Prefix of the names of the helper functions `with_suffix`, `factor`, `add`, `mul`, `align_up`.
    pub prefix: String,
    /// A call of the larger one and a choice, with `{0}`, `{1}` and `{2}` for the arguments.
    pub max: String,
    pub choice: &'static str,
}

impl ExprSyntax {
    /// Writes an expression with calls of helper functions, which every language has in its own file.
    pub(super) fn print_expr(&self, vars: &[String], expr: &Expr) -> String {
        let p = |expr: &Expr| self.print_expr(vars, expr);
        let call = |name: &str, a: String, b: String| format!("{}{name}({a}, {b})", self.prefix);
        match expr {
            Expr::Const(value) => self.print_integer(*value),
            Expr::Var(var) => vars.get(*var).cloned().unwrap_or_default(),
            Expr::Start => self.start.to_owned(),
            Expr::Length(a, suffix) => call("length", p(a), self.print_integer(i64::from(*suffix))),
            Expr::Factor(a) => format!("{}factor({})", self.prefix, p(a)),
            Expr::Add(a, b) => call("add", p(a), p(b)),
            Expr::Mul(a, b) => call("mul", p(a), p(b)),
            Expr::AlignUp(a, align) => call("up", p(a), self.print_integer(*align)),
            Expr::Max(a, b) => self.max.replace("{0}", &p(a)).replace("{1}", &p(b)),
            Expr::IfPositive(a, b, c) => self.choice.replace("{0}", &p(a)).replace("{1}", &p(b)).replace("{2}", &p(c)),
        }
    }

    pub(super) fn print_integer(&self, value: i64) -> String {
        format!("{value}{}", self.suffix)
    }
}
