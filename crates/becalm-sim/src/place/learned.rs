//! Inference with trained weights: a feed-forward network or a support vector machine, without Python.

use serde::{Deserialize, Serialize};

/// The activation function of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    Sigmoid,
    Tanh,
    Linear,
}

impl Activation {
    fn of(self, sum: f64) -> f64 {
        match self {
            Activation::Sigmoid => 1.0 / (1.0 + (-sum).exp()),
            Activation::Tanh => sum.tanh(),
            Activation::Linear => sum,
        }
    }
}

/// A layer: a row of weights and a bias for each output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    pub weights: Vec<Vec<f64>>,
    pub bias: Vec<f64>,
    pub activation: Activation,
}

/// A trained model. Inputs are normalised as (input - shift)·scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub shift: Vec<f64>,
    pub scale: Vec<f64>,
    #[serde(flatten)]
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Layers(Vec<Layer>),
    Svm(Svm),
}

/// A support vector machine with a Gaussian kernel: one output, positive for the second class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Svm {
    pub vectors: Vec<Vec<f64>>,
    pub coefficients: Vec<f64>,
    pub intercept: f64,
    pub gamma: f64,
}

impl Model {
    /// Check that all dimensions match, for rows of `inputs` numbers.
    ///
    /// # Errors
    /// Returns a sentence if they do not.
    pub fn check(&self, inputs: usize) -> Result<(), String> {
        let mut wide = inputs;
        let mut fits = self.shift.len() == inputs && self.scale.len() == inputs;
        match &self.kind {
            Kind::Layers(layers) => {
                for layer in layers {
                    fits &= layer.weights.len() == layer.bias.len();
                    fits &= layer.weights.iter().all(|row| row.len() == wide);
                    wide = layer.bias.len();
                }
            }
            Kind::Svm(svm) => {
                fits &= svm.vectors.len() == svm.coefficients.len();
                fits &= svm.vectors.iter().all(|vector| vector.len() == inputs);
            }
        }
        if fits {
            Ok(())
        } else {
            Err(format!("These weights do not fit rows of {inputs} numbers."))
        }
    }

    /// Return the outputs for a row of inputs.
    pub fn infer(&self, row: &[f64]) -> Vec<f64> {
        let mut values: Vec<f64> = row
            .iter()
            .zip(&self.shift)
            .zip(&self.scale)
            .map(|((x, shift), scale)| (x - shift) * scale)
            .collect();
        match &self.kind {
            Kind::Layers(layers) => {
                for layer in layers {
                    values = layer
                        .weights
                        .iter()
                        .zip(&layer.bias)
                        .map(|(row, bias)| {
                            layer
                                .activation
                                .of(bias + row.iter().zip(&values).map(|(w, x)| w * x).sum::<f64>())
                        })
                        .collect();
                }
                values
            }
            Kind::Svm(svm) => {
                let near = |vector: &[f64]| {
                    let distance: f64 = vector.iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum();
                    (-svm.gamma * distance).exp()
                };
                let sum: f64 = svm.vectors.iter().zip(&svm.coefficients).map(|(v, c)| c * near(v)).sum();
                vec![sum + svm.intercept]
            }
        }
    }
}
