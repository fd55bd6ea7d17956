//! What memory is not: the operators and functions of tiles, on windows and scratch, where each is an
//! error that says to load first. Nothing here records anything.

use super::axes::HasAxes;
use super::element::Element;
use super::memory::{In, Out, Vmem};
use super::session;
use super::shape::Shape;
use super::value::{Handle, Tile};

/// A value that arithmetic takes: never memory. The bound makes `window + tile` an error about memory.
#[diagnostic::on_unimplemented(
    message = "`{M}` is memory, not a value",
    label = "load it first: `.load()`",
    note = "arithmetic takes tiles; `.load()` reads the block of this grid step"
)]
pub trait LoadedFirst<M> {}

macro_rules! not_a_value {
    ($($name:ident)+: $operators:tt) => { $(not_a_value!(@one $name $operators);)+ };
    (@one $name:ident [$($tr:ident $method:ident),+]) => {
        $(
            impl<T: Element, S: Shape, R: LoadedFirst<$name<T, S>>> std::ops::$tr<R> for $name<T, S> {
                type Output = Tile<T, S>;
                fn $method(self, _other: R) -> Tile<T, S> {
                    nothing()
                }
            }
            not_a_value!(@literal f32, $name $tr $method);
            not_a_value!(@literal i32, $name $tr $method);
        )+
        impl<T: Element, S: Shape> std::ops::Neg for $name<T, S>
        where
            (): LoadedFirst<$name<T, S>>,
        {
            type Output = Tile<T, S>;
            fn neg(self) -> Tile<T, S> {
                nothing()
            }
        }
    };
    (@literal $literal:ty, $name:ident $tr:ident $method:ident) => {
        impl<T: Element, S: Shape> std::ops::$tr<$name<T, S>> for $literal
        where
            $literal: LoadedFirst<$name<T, S>>,
        {
            type Output = Tile<T, S>;
            fn $method(self, _other: $name<T, S>) -> Tile<T, S> {
                nothing()
            }
        }
    };
}

/// A tile that no kernel accepts: an error has said why.
fn nothing<T: Element, S: Shape>() -> Tile<T, S> {
    Tile::wrap(session::dead())
}

macro_rules! no_functions {
    ($($name:ident)+) => { $(
        // The bound is the method's, not the block's: a method that is found and then refused explains itself.
        #[doc(hidden)]
        impl<T: Element, S: Shape> $name<T, S> {
            no_functions!(@unary $name: exp exp2 expm1 log log2 log1p sqrt rsqrt cbrt recip recip_approx);
            no_functions!(@unary $name: sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erf_inv);
            no_functions!(@unary $name: floor ceil round round_even trunc abs sign popcount clz square);
            no_functions!(@unary $name: relu relu6 selu sigmoid log_sigmoid silu gelu gelu_tanh hard_sigmoid hard_swish softplus mish);
            no_functions!(@binary $name: maximum minimum floor_mod floor_div shr_logical pow atan2 hypot copysign next_after powi);
            no_functions!(@reduction $name: sum prod max min mean variance std_dev logsumexp softmax log_softmax);

            pub fn cast<U: Element>(self) -> Tile<U, S>
            where
                (): LoadedFirst<$name<T, S>>,
            {
                nothing()
            }

            pub fn t(self) -> Tile<T, S>
            where
                (): LoadedFirst<$name<T, S>>,
            {
                nothing()
            }

            pub fn reshape<J: Shape>(self) -> Tile<T, J>
            where
                (): LoadedFirst<$name<T, S>>,
            {
                nothing()
            }
        }

    )+ };
    (@unary $name:ident: $($method:ident)+) => { $(
        pub fn $method(self) -> Tile<T, S>
        where
            (): LoadedFirst<$name<T, S>>,
        {
            nothing()
        }
    )+ };
    (@binary $name:ident: $($method:ident)+) => { $(
        pub fn $method<B>(self, _other: B) -> Tile<T, S>
        where
            (): LoadedFirst<$name<T, S>>,
        {
            nothing()
        }
    )+ };
    (@reduction $name:ident: $($method:ident)+) => { $(
        pub fn $method<A>(self, _axis: A) -> Tile<T, S::Reduced>
        where
            S: HasAxes<A>,
            (): LoadedFirst<$name<T, S>>,
        {
            nothing()
        }
    )+ };
}

no_functions!(In Out Vmem);
not_a_value!(In Out Vmem: [Add add, Sub sub, Mul mul, Div div, Rem rem, BitAnd bitand, BitOr bitor, BitXor bitxor, Shl shl, Shr shr]);
